"""The website whose pull requests the corpus of groups renders: eight small pages, two themes, three viewports."""

VIEWPORTS = {"mobile": 360, "tablet": 560, "desktop": 760}

_STYLE = """
:root { --ground: #ffffff; --card: #f6f8fa; --line: #d0d7de; --text: #24292f; --pale: #57606a; --accent: #0969da;
  --danger: #cf222e; --done: #1a7f37 }
:root.dark { --ground: #0f1419; --card: #1a2129; --line: #303a44; --text: #e6edf3; --pale: #93a1af;
  --accent: #4493f8; --danger: #ff7b72; --done: #3fb950 }
* { box-sizing: border-box; margin: 0 }
body { font: 13px/20px "DejaVu Sans"; color: var(--text); background: var(--ground) }
header { display: flex; align-items: center; gap: 14px; padding: 10px 16px; border-bottom: 1px solid var(--line) }
header b { font-size: 15px } nav { display: flex; gap: 12px; color: var(--pale); font-size: 12px }
.push { margin-left: auto }
.button { border-radius: 6px; padding: 4px 12px; font-size: 12px; color: #fff; background: var(--accent) }
.plain { color: var(--text); background: var(--card); border: 1px solid var(--line) }
main { padding: 14px 16px } h1 { font-size: 18px; line-height: 26px; margin-bottom: 8px }
p { margin-bottom: 8px; font-size: 12px; line-height: 18px }
a { color: var(--accent) } .cards { display: flex; gap: 12px; margin-bottom: 10px }
.card { flex: 1; padding: 10px; border: 1px solid var(--line); border-radius: 6px; background: var(--card); font-size: 12px }
.badge { border-radius: 9px; padding: 1px 8px; font-size: 11px; color: #fff; background: var(--done) }
.hero { height: 84px; padding: 28px 16px; background: #6639ba; color: #fff; font-size: 16px }
ul { list-style: none; padding: 0 } li { padding: 5px 0; border-bottom: 1px solid var(--line); font-size: 12px }
li span { float: right } .field { height: 28px; border: 1px solid var(--line); border-radius: 4px; padding: 3px 8px; margin-bottom: 8px }
footer { padding: 10px 16px; border-top: 1px solid var(--line); color: var(--pale); font-size: 11px }
.later { display: none } .menu { display: none } #notice, #strip { padding: 8px 16px; font-size: 12px }
#notice { background: #fff8c5; color: #4d2d00 } #strip { background: var(--danger); color: #fff }
@media (max-width: 480px) { nav { display: none } .menu { display: block } .cards { display: block } .card { margin-bottom: 8px } }
"""

_MENU = '<svg class="menu" width="18" height="18" stroke="currentColor" stroke-width="2"><path d="M2 4h14M2 9h14M2 14h14"/></svg>'
_HEADER = f"""<header>{_MENU}<b>Lantern</b><nav><span>Shop</span><span>Docs</span><span>Help</span></nav>
<span class="push badge later" id="beta">beta</span><span class="push button" id="sign">Sign in</span></header>
<div class="later" id="notice">Free delivery until Sunday.</div>
<div class="later" id="strip">We move house: orders that reach us between the first and the fifth of May leave a week later.</div>"""
_FOOTER = '<footer><span id="year">2025 Lantern</span> · Imprint<div id="legal">Prices include taxes.</div></footer>'

_PAGES = {
    "home": """<div class="hero">Light for every room</div><main><h1>Welcome</h1>
<p id="first">Lamps made by hand, from brass and paper. <a>See all lamps</a></p>
<div class="cards"><div class="card">Oil lamps <span class="badge">new</span></div><div class="card">Paper lamps</div></div></main>""",
    "pricing": """<main><h1>Pricing</h1><p id="first">Pay by month, leave at any time. <a>Compare plans</a></p>
<div class="cards"><div class="card">Starter<p id="cost">12 € a month</p><span class="button" id="buy">Start trial</span></div>
<div class="card">Studio<p>40 € a month</p><span class="button plain">Call us</span></div></div></main>""",
    "docs": """<main><h1>Getting started</h1><p id="first">Fill the tank, trim the wick, wait for a minute. Then <a>light the
lamp</a> and put the glass back on. Read <a>how to clean it</a> once a year.</p><p id="second">Never leave it alone.</p>
<span class="button plain">Next page</span></main>""",
    "orders": """<main><h1>Orders</h1><ul><li>Oil lamp, brass <span>64.00 €</span></li>
<li class="later" id="row">Wick, round, ten pieces <span>6.00 €</span></li><li>Paper lamp <span>31.50 €</span></li>
<li>Glass, tall <span>9.00 €</span></li></ul><p id="first" style="margin-top: 8px">Total 104.50 € <span class="badge">paid</span></p></main>""",
    "settings": """<main><h1>Settings</h1><p id="first">Your name and how we reach you.</p><div class="field">Anna Berg</div>
<div class="field">anna@example.org</div><span class="button" id="save">Save</span> <span class="button plain">Cancel</span></main>""",
    "about": """<main><h1>About us</h1><p id="first">Two people and a workshop since 1998.</p>
<div class="card" id="press" style="margin-bottom: 8px">Press: <a>pictures and texts</a></div>
<p id="cost">12 € a month</p></main>""",
    "faq": """<main><h1>Questions</h1><p id="first"><b>Can I send a lamp back?</b><br>Yes, for thirty days. <a>Write to us</a>.</p>
<p id="second"><b>Do you repair lamps?</b><br>All that we ever made.</p></main>""",
    "login": """<main><h1>Sign in</h1><div class="field">you@example.org</div><span class="button" id="save">Send link</span></main>""",
}
NAMES = [*_PAGES]


def page(name: str, theme: str) -> str:
    """Return the page as it is before any pull request."""
    style = f"<!doctype html><meta charset='utf-8'><style>{_STYLE}</style>"
    themed = f"<script>document.documentElement.className = '{theme}'</script>"
    return f"{style}{themed}{_HEADER}{_PAGES[name]}{_FOOTER}"
