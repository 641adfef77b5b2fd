"""deploy/prometheus and deploy/grafana: the rules fire when they should, and every metric they use exists."""

import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from prshots.server.observability import metrics
from support.deploy_checkers import DEPLOY, passes, walk

PROMETHEUS = DEPLOY / "prometheus"
RULES = yaml.safe_load((PROMETHEUS / "alerts.yaml").read_text())["groups"][0]["rules"]
DASHBOARD: dict[str, Any] = json.loads((DEPLOY / "grafana" / "prshots.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
QUERIES = [target["expr"] for panel in PANELS for target in panel["targets"]]
EXPRESSIONS = [rule["expr"] for rule in RULES] + QUERIES


def samples() -> dict[str, set[str]]:
    """Return the names of all metrics as Prometheus sees them, each with its labels."""
    of_processes = {
        f"{family.name}_total" if family.type == "counter" else family.name: {"process"}
        for family in metrics.Processes().collect()
    }
    return of_processes | {
        name: set(family._labelnames) | ({"le"} if name.endswith("_bucket") else set())
        for family in vars(metrics).values()
        if hasattr(family, "describe") and hasattr(family, "_labelnames")
        for name in (
            {f"{family._name}_bucket", f"{family._name}_sum", f"{family._name}_count"}
            if family._type == "histogram"
            else {f"{family._name}_total" if family._type == "counter" else family._name}
        )
    }


@pytest.mark.slow
def test_promtool_accepts_the_rules_and_the_config() -> None:
    passes("promtool", "check", "rules", PROMETHEUS / "alerts.yaml")
    passes("promtool", "check", "config", PROMETHEUS / "prometheus.yaml")


@pytest.mark.slow
def test_alerts_fire_when_they_should_and_only_then() -> None:
    passes("promtool", "test", "rules", PROMETHEUS / "alerts_test.yaml")


def test_each_alert_has_a_test_a_severity_a_summary_and_a_runbook() -> None:
    tried = re.findall(r'alertname="(\w+)"', (PROMETHEUS / "alerts_test.yaml").read_text())
    assert set(tried) == {rule["alert"] for rule in RULES}
    for rule in RULES:
        assert rule["labels"]["severity"] in {"page", "ticket"}
        assert len(rule["annotations"]["runbook"]) > 40
        assert rule["annotations"]["summary"]


def test_every_metric_used_exists() -> None:
    known = samples()
    assert {"prshots_uploads_total", "prshots_delivery_seconds_bucket"} <= set(known)
    variable = [value for value in walk(DASHBOARD["templating"]) if isinstance(value, str)]
    tests = (PROMETHEUS / "alerts_test.yaml").read_text()
    used = set(re.findall(r"\bprshots_\w+", " ".join([*EXPRESSIONS, *variable, tests])))
    assert used - set(known) == set()


def test_every_metric_has_the_labels_used_in_queries() -> None:
    known = samples()
    by_prometheus = {"job", "instance"}
    for name, matchers in re.findall(r"\b(prshots_\w+)\{([^}]*)\}", " ".join(EXPRESSIONS)):
        asked = set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", matchers))
        assert asked <= known[name] | by_prometheus, name


def test_every_result_label_used_exists() -> None:
    """A rule with a misspelled result would never fire."""
    of_figure = {
        "prshots_uploads_total": metrics.UPLOAD_RESULTS,
        "prshots_deliveries_total": metrics.DELIVERY_RESULTS,
        "prshots_sweeps_total": metrics.SWEEP_RESULTS,
    }
    asked = re.findall(r'\b(prshots_\w+)\{[^}]*result=~?"([^"]+)"', " ".join(EXPRESSIONS))
    assert {name for name, _ in asked} == set(of_figure)
    for name, results in asked:
        assert set(results.split("|")) <= set(of_figure[name])


@pytest.mark.slow
def test_promtool_accepts_every_dashboard_query(tmp_path: Path) -> None:
    def plain(query: str) -> str:
        return query.replace("$__rate_interval", "5m").replace("$instance", ".*")

    rules = [{"record": f"panel_{number}", "expr": plain(query)} for number, query in enumerate(QUERIES)]
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    passes("promtool", "check", "rules", tmp_path / "rules.yaml")


def test_the_dashboard_shows_every_metric() -> None:
    shown = set(re.findall(r"\bprshots_\w+", " ".join(QUERIES)))
    families = {re.sub("_(bucket|sum|count)$", "", name) for name in samples()}
    assert families - {re.sub("_bucket$", "", name) for name in shown} == set()


def test_the_dashboard_can_be_imported_into_any_grafana() -> None:
    """Its data source is a variable, so it works in any Grafana."""
    sources = [
        value["datasource"] for value in walk(DASHBOARD) if isinstance(value, dict) and "datasource" in value
    ]
    assert sources
    assert all(source == {"type": "prometheus", "uid": "${datasource}"} for source in sources)
    assert [variable["name"] for variable in DASHBOARD["templating"]["list"]] == ["datasource", "instance"]
    assert "id" not in DASHBOARD
    assert DASHBOARD["schemaVersion"] >= 36


def test_panels_have_unique_ids_and_do_not_overlap() -> None:
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(ids)) == len(ids)
    places = [panel["gridPos"] for panel in DASHBOARD["panels"]]
    for one, other in itertools.combinations(places, 2):
        beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        below = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        assert beside or below, (one, other)
    assert max(place["x"] + place["w"] for place in places) == 24


def test_each_panel_has_a_query_and_a_unit() -> None:
    for panel in PANELS:
        assert panel["targets"], panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])
