import { Button, CopyButton, Dialog, Mono } from "../ui";

export function SecretDialog({ secret, onClose }: { secret: string; onClose: () => void }) {
  return (
    <Dialog
      title="The webhook’s secret"
      onClose={onClose}
      actions={
        <Button kind="primary" onClick={onClose}>
          I’ve stored it
        </Button>
      }
    >
      <p class="warning">Copy the secret now. It cannot be shown again.</p>
      <div class="secret">
        <Mono>{secret}</Mono>
        <CopyButton text={secret} label="Copy secret" />
      </div>
      <p class="quiet small">Your server uses it to verify that messages come from this service.</p>
    </Dialog>
  );
}
