export { Bars, describeUploads } from "./bars";
export { Button, MoreButton } from "./button";
export { Choice } from "./choice";
export { Command } from "./command";
export { CopyButton } from "./copy-button";
export { Confirm, ConfirmHost, confirmDialog, Dialog } from "./dialog";
export { Field, NameField } from "./field";
export * from "./icons";
export { Menu } from "./menu";
export { Mono, Time } from "./mono-and-time";
export {
  InstallationHead,
  neededRole,
  ORGANIZATION_TABS,
  OrganizationHead,
  PageHead,
  PROJECT_TABS,
  ProjectHead,
} from "./page-head";
export { QuotaBars } from "./quotas";
export { SearchField } from "./search-field";
export { Secret, SecretDialog } from "./secret";
export { Empty, Failed, FailedPage, Loading } from "./states";
export { Toasts, toast } from "./toast";
export { useAction } from "./use-action";
