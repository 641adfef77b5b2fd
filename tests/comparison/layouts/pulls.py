"""Pull requests: an app, its viewports and themes, and edits on all of its screens (*) or on one."""

from typing import NamedTuple


class Pull(NamedTuple):
    app: str
    edits: list[tuple[str, str]]
    viewports: str = "wide phone"
    themes: str = "light dark"


PULLS = {
    "invoices-banner": Pull("invoices", [("banner", "*")]),
    "store-banner": Pull("store", [("banner", "*")]),
    "kanban-banner": Pull("kanban", [("banner", "*")], "wide tablet"),
    "docs-banner-and-typo": Pull("docs", [("banner", "*"), ("typo", "guide")], "wide"),
    "mail-banner-and-navigation": Pull("mail", [("banner", "*"), ("badge", "*")], "wide", "light dark"),
    "invoices-sidebar-1": Pull("invoices", [("sidebar-1", "*")], "wide full"),
    "docs-sidebar-24": Pull("docs", [("sidebar-24", "*")], "wide"),
    "settings-font": Pull("settings", [("font", "*")]),
    "crm-font-size": Pull("crm", [("font-size", "*")]),
    "chat-language": Pull("chat", [("language", "*")]),
    "invoices-button-new": Pull("invoices", [("button-new", "*")], "wide phone"),
    "settings-button-label": Pull("settings", [("button-label", "*")]),
    "kanban-button-shape": Pull("kanban", [("button-shape", "*")]),
    "crm-button-moved": Pull("crm", [("button-moved", "*")], "wide full", "light"),
    "mail-theme": Pull("mail", [("theme", "*")], "wide phone", "light"),
    "invoices-theme-and-two-edits": Pull(
        "invoices", [("theme", "*"), ("button-label", "detail"), ("price", "overdue")], "wide full", "light"
    ),
    "store-accent": Pull("store", [("accent", "*")], "wide phone"),
    "fit-accent-and-price": Pull("fit", [("accent", "*"), ("price", "activity")], "phone", "light dark"),
    "crm-navigation-and-row": Pull("crm", [("nav-icon", "*"), ("item-middle", "deals")], "wide"),
    "invoices-navigation-and-price": Pull(
        "invoices", [("nav-label", "*"), ("price", "overdue")], "wide", "light dark"
    ),
    "invoices-nav-new": Pull("invoices", [("nav-new", "*")], "wide full", "light"),
    "mail-label-and-button": Pull("mail", [("nav-label", "*"), ("button-new", "*")], "wide"),
    "store-price": Pull("store", [("price", "product")]),
    "store-row-and-price": Pull("store", [("item-first", "kitchen"), ("price", "sale")], "wide full"),
    "dashboard-chart-and-icon": Pull("dashboard", [("chart", "overview"), ("icon", "sales")], "wide"),
    "dashboard-tile-gone": Pull("dashboard", [("item-gone-first", "traffic")], "wide phone"),
    "docs-sections-swapped": Pull("docs", [("sections-swapped", "api")], "full"),
    "crm-column": Pull("crm", [("column-wider", "*")], "wide full"),
    "docs-reflow": Pull("docs", [("reflow", "*")], "wide phone", "light"),
    "store-picture": Pull("store", [("picture", "home"), ("word", "product")], "wide phone", "light"),
    "settings-dialog": Pull("settings", [("dialog-label", "*")], "wide phone"),
    "fit-tabs-and-row": Pull("fit", [("nav-label", "*"), ("item-first", "plan")], "phone"),
    "chat-message-gone": Pull("chat", [("item-gone-middle", "design"), ("item-middle", "direct")], "wide"),
}
