"""deploy/helm/prshots: the chart is valid, and it renders what operators rely on."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from prshots.server.config.settings import PREFIX, SETTINGS, load_settings
from support.deploy_checkers import DEPLOY, passes, run, secret_settings, walk

pytestmark = pytest.mark.slow  # helm renders the whole chart for each set of values

CHART = DEPLOY / "helm" / "prshots"
MINIMAL: dict[str, Any] = {
    "image": {"repository": "registry.example.org/prshots"},
    "url": "https://shots.example.org",
    "storeUrl": "s3://shots/images?region=eu-central-1",
    "secret": "prshots",
}
FULL: dict[str, Any] = MINIMAL | {
    "imgUrl": "https://img.example.org",
    "extraVolumes": [{"name": "ca", "configMap": {"name": "company-ca"}}],
    "extraVolumeMounts": [{"name": "ca", "mountPath": "/ca", "readOnly": True}],
    "extraEnv": {"SSL_CERT_FILE": "/ca/ca.pem"},
    "prometheusRule": {"enabled": True, "labels": {"release": "prometheus"}},
    "image": {
        "repository": "registry.example.org/prshots",
        "tag": "9.9",
        "pullSecrets": [{"name": "registry"}],
    },
    "secretsAsEnv": {"store": "bucket", "storeReadOnly": "bucket-reader", "signIn": "github"},
    "settings": {"UPLOADS_PER_MINUTE": 300, "LOG_REQUESTS": True, "OIDC_NAME": "Example's login"},
    "serviceAccount": {"annotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/prshots"}},
    "api": {"autoscaling": {"enabled": True, "minReplicas": 3, "maxReplicas": 9, "cpuPercent": 50}},
    "web": {"replicas": 1},
    "ingress": {"enabled": True, "className": "nginx", "tlsSecret": "tls"},
    "networkPolicy": {"enabled": True, "from": [{"namespaceSelector": {"matchLabels": {"name": "ingress"}}}]},
    "podMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"operator": "Exists"}],
}
FROM_SECRET = {
    "database-url": "postgresql://user:password@host/name",
    "counter-url": "rediss://:password@host:6379/0",
}


def render(folder: Path, values: dict[str, Any]) -> list[dict[str, Any]]:
    (folder / "values.yaml").write_text(yaml.safe_dump(values))
    text = passes("helm", "template", "shots", CHART, "--values", folder / "values.yaml")
    return [document for document in yaml.safe_load_all(text) if document]


@pytest.fixture(scope="module")
def minimal(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    return render(tmp_path_factory.mktemp("minimal"), MINIMAL)


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    return render(tmp_path_factory.mktemp("full"), FULL)


@pytest.fixture(scope="module", params=["minimal", "full"])
def documents(
    request: pytest.FixtureRequest, minimal: list[dict[str, Any]], full: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    return minimal if request.param == "minimal" else full


def of_kind(documents: list[dict[str, Any]], kind: str) -> dict[str, dict[str, Any]]:
    return {found["metadata"]["name"]: found for found in documents if found["kind"] == kind}


def pods(documents: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the pod specifications by component."""
    return {
        found["metadata"]["labels"]["app.kubernetes.io/component"]: found["spec"]["template"]["spec"]
        for found in documents
        if found["kind"] in {"Deployment", "Job"}
    }


def variables(pod: dict[str, Any]) -> dict[str, str]:
    return {
        entry["name"]: entry.get("value") or FROM_SECRET[entry["valueFrom"]["secretKeyRef"]["key"]]
        for entry in pod["containers"][0]["env"]
        if not is_optional(entry)
    }


def is_optional(entry: dict[str, Any]) -> bool:
    return bool(entry.get("valueFrom", {}).get("secretKeyRef", {}).get("optional"))


def test_helm_lint_passes(tmp_path: Path) -> None:
    (tmp_path / "full.yaml").write_text(yaml.safe_dump(FULL))
    passes("helm", "lint", "--strict", CHART, "--values", tmp_path / "full.yaml")


def test_a_missing_required_value_is_named() -> None:
    done = run("helm", "template", "shots", CHART)
    assert done.returncode != 0
    assert "image.repository is missing: set it to" in done.stderr


def test_invalid_values_are_refused(tmp_path: Path) -> None:
    """A secret in the settings, an invalid address, a misspelled value."""
    wrong = {
        "settings": {"DATABASE_URL": FROM_SECRET["database-url"]},
        "url": "shots.example.org",
        "secrets": "x",
    }
    (tmp_path / "values.yaml").write_text(yaml.safe_dump(MINIMAL | wrong))
    done = run("helm", "template", "shots", CHART, "--values", tmp_path / "values.yaml")
    assert done.returncode != 0
    for said in ("- settings: ", "- url: ", "Additional property secrets is not allowed"):
        assert said in done.stderr


def test_every_component_is_rendered_with_its_command(documents: list[dict[str, Any]]) -> None:
    started = {part: pod["containers"][0]["args"] for part, pod in pods(documents).items()}
    assert started == {
        "api": ["serve", "api"],
        "delivery": ["serve", "delivery"],
        "web": ["serve", "web"],
        "sweep": ["serve", "sweep"],
        "migrate": ["migrate"],
    }


def test_every_container_is_read_only_and_unprivileged(documents: list[dict[str, Any]]) -> None:
    for pod in pods(documents).values():
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["runAsUser"] == 10001
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod["automountServiceAccountToken"] is False
        [container] = pod["containers"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert {"name": "tmp", "mountPath": "/tmp"} in container["volumeMounts"]
        assert {"cpu", "memory"} <= set(container["resources"]["requests"])
        assert container["resources"]["limits"]["memory"]


def test_secrets_are_only_referenced(documents: list[dict[str, Any]]) -> None:
    assert not of_kind(documents, "Secret")
    assert not of_kind(documents, "ConfigMap")
    for pod in pods(documents).values():
        for entry in pod["containers"][0]["env"]:
            secret = entry["name"].endswith(("_SECRET", "_KEYS", "DATABASE_URL", "COUNTER_URL"))
            assert ("valueFrom" in entry) == (secret or is_optional(entry)), entry


def test_keys_are_mounted_as_a_folder_so_that_rotations_arrive(documents: list[dict[str, Any]]) -> None:
    """A file mounted with subPath is never updated, so a key rotation would not arrive."""
    for part, pod in pods(documents).items():
        mounts = {mount["name"]: mount for mount in pod["containers"][0]["volumeMounts"]}
        assert ("keys" in mounts) == (part in {"api", "delivery", "sweep"})
        if "keys" not in mounts:
            continue
        assert mounts["keys"] == {"name": "keys", "mountPath": "/keys", "readOnly": True}
        assert variables(pod)["PRSHOTS_SIGNING_KEYS_FILE"] == "/keys/signing-keys"
        [volume] = [volume["secret"] for volume in pod["volumes"] if volume["name"] == "keys"]
        assert volume["defaultMode"] == 0o440  # readable only by the user and the pod's group
        assert pod["securityContext"]["fsGroup"] == pod["securityContext"]["runAsGroup"]


def test_each_component_gets_only_the_secrets_it_needs(full: list[dict[str, Any]]) -> None:
    of_parts = pods(full)
    with_database = {part for part, pod in of_parts.items() if "PRSHOTS_DATABASE_URL" in variables(pod)}
    assert with_database == {"api", "sweep", "migrate"}
    secrets = {
        part: [source["secretRef"]["name"] for source in pod["containers"][0].get("envFrom", [])]
        for part, pod in of_parts.items()
    }
    assert secrets == {
        "api": ["bucket", "github"],
        "sweep": ["bucket"],
        "delivery": ["bucket-reader"],
        "web": [],  # as SECURITY.md says
        "migrate": [],
    }
    known = {entry["name"]: entry for entry in of_parts["web"]["containers"][0]["env"]}
    assert not secret_settings() & set(known)
    ours = {name.removeprefix(PREFIX).lower() for name in known if name.startswith(PREFIX)}
    assert ours <= set(SETTINGS)
    reference = {"name": "github", "key": "PRSHOTS_GITHUB_CLIENT_ID", "optional": True}
    assert known["PRSHOTS_GITHUB_CLIENT_ID"]["valueFrom"] == {"secretKeyRef": reference}


def test_every_variable_is_a_valid_setting(documents: list[dict[str, Any]]) -> None:
    for part, pod in pods(documents).items():
        # A Service adds variables such as PRSHOTS_API_PORT=tcp://…, which are not valid settings.
        assert pod["enableServiceLinks"] is False
        with pytest.MonkeyPatch.context() as patch:
            for name, value in variables(pod).items():
                assert name == "SSL_CERT_FILE" or name.removeprefix(PREFIX).lower() in SETTINGS, name
                patch.setenv(name, value)
            settings = load_settings()
        if part != "migrate":
            assert settings.base_url == settings.web_url == MINIMAL["url"]
            needed = settings.drain_seconds + settings.grace_seconds
            assert pod["terminationGracePeriodSeconds"] > needed


def test_probes_use_healthz_and_readyz_and_fail_before_the_drain_ends(
    documents: list[dict[str, Any]],
) -> None:
    ports = {"api": 8081, "sweep": 8083, "delivery": 8082, "web": 8080}
    for part, port in ports.items():
        [container] = pods(documents)[part]["containers"]
        assert container["ports"] == [{"name": "http", "containerPort": port}]
        assert container["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": "http"}
        assert container["startupProbe"]["httpGet"] == {"path": "/healthz", "port": "http"}
        assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "http"}
        # Traffic must move away while the component still serves: the probes must fail before the drain ends.
        probe = container["readinessProbe"]
        drain = float(variables(pods(documents)[part])["PRSHOTS_DRAIN_SECONDS"])
        assert probe["periodSeconds"] * probe["failureThreshold"] < drain


def test_services_select_only_their_own_pods(documents: list[dict[str, Any]]) -> None:
    labels = {
        name: found["spec"]["template"]["metadata"]["labels"]
        for kind in ("Deployment", "Job")
        for name, found in of_kind(documents, kind).items()
    }
    for name, service in of_kind(documents, "Service").items():
        wanted = service["spec"].get("selector")
        found = [pod for pod, has in labels.items() if wanted and wanted.items() <= has.items()]
        assert found == ([] if name.endswith("-nowhere") else [name])
    assert variables(pods(documents)["web"])["PRSHOTS_API_URL"] == "http://shots-prshots-api:8081"


def test_the_migration_runs_first_and_needs_no_other_chart_resource(documents: list[dict[str, Any]]) -> None:
    [job] = of_kind(documents, "Job").values()
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
    assert "serviceAccountName" not in job["spec"]["template"]["spec"]


def test_the_ingress_serves_one_host_and_hides_metrics_and_readyz(full: list[dict[str, Any]]) -> None:
    [ingress] = of_kind(full, "Ingress").values()
    hosts = ["shots.example.org", "img.example.org"]
    assert ingress["spec"]["tls"] == [{"hosts": hosts, "secretName": "tls"}]
    rule, images = ingress["spec"]["rules"]
    assert [rule["host"], images["host"]] == hosts
    leads = {
        path["path"]: path["backend"]["service"]["name"].removeprefix("shots-prshots-")
        for path in rule["http"]["paths"]
    }
    assert leads == {
        "/v1": "api", "/auth": "api", "/docs": "api", "/openapi.json": "api", "/i": "delivery", "/": "web",
        "/metrics": "nowhere", "/readyz": "nowhere",
    }  # fmt: skip
    assert {path["backend"]["service"]["name"] for path in rule["http"]["paths"]} <= set(
        of_kind(full, "Service")
    )
    [path] = images["http"]["paths"]
    assert (path["path"], path["backend"]["service"]["name"]) == ("/i", "shots-prshots-delivery")


def test_images_can_have_their_own_address(full: list[dict[str, Any]], minimal: list[dict[str, Any]]) -> None:
    for documents, expected in ((full, FULL["imgUrl"]), (minimal, MINIMAL["url"])):
        found = {
            variables(pod)["PRSHOTS_IMG_URL"] for part, pod in pods(documents).items() if part != "migrate"
        }
        assert found == {expected}


def test_a_private_ca_is_mounted_everywhere(full: list[dict[str, Any]]) -> None:
    for pod in pods(full).values():
        assert FULL["extraVolumes"][0] in pod["volumes"]
        assert FULL["extraVolumeMounts"][0] in pod["containers"][0]["volumeMounts"]
        assert variables(pod)["SSL_CERT_FILE"] == "/ca/ca.pem"


def test_a_changed_secret_restarts_the_pods(documents: list[dict[str, Any]]) -> None:
    """The value depends on the cluster, which `helm template` doesn't ask."""
    for found in of_kind(documents, "Deployment").values():
        assert len(found["spec"]["template"]["metadata"]["annotations"]["checksum/secrets"]) == 64


def test_the_alerts_are_those_of_deploy_prometheus(full: list[dict[str, Any]]) -> None:
    [rule] = of_kind(full, "PrometheusRule").values()
    assert rule["spec"] == yaml.safe_load((DEPLOY / "prometheus/alerts.yaml").read_text())
    assert rule["metadata"]["labels"]["release"] == "prometheus"


def test_optional_resources_are_rendered_only_if_enabled(
    full: list[dict[str, Any]], minimal: list[dict[str, Any]]
) -> None:
    optional = {"Ingress", "NetworkPolicy", "PodMonitor", "PrometheusRule", "HorizontalPodAutoscaler"}
    assert not optional & {found["kind"] for found in minimal}
    assert optional <= {found["kind"] for found in full}
    # A budget for a single pod would block draining its node. An autoscaler, if enabled, sets the replicas.
    assert set(of_kind(full, "PodDisruptionBudget")) == {"shots-prshots-api", "shots-prshots-delivery"}
    deployments = of_kind(full, "Deployment")
    assert "replicas" not in deployments["shots-prshots-api"]["spec"]
    assert deployments["shots-prshots-web"]["spec"]["replicas"] == 1
    images = {pod["containers"][0]["image"] for pod in pods(full).values()}
    assert images == {"registry.example.org/prshots:9.9"}
    assert variables(pods(full)["api"])["PRSHOTS_LOG_REQUESTS"] == "true"
    assert not any(value == "<no value>" for document in full for value in walk(document))
