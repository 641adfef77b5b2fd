"""A comment as GitHub, GitLab and Gitea show it: their renderers, and the parts of their styles that make it tall."""

from playwright.sync_api import Browser, Page

from support.markdown_pages import RENDERERS

PAGE_WIDTH = 862
"""A comment on a pull request on GitHub, with the margin around it."""

THEMES = ("light", "dark")

_PAGE = """<!doctype html><meta charset=utf-8><style>
body { margin: 0; padding: 24px; background: var(--page); color: var(--text); font: 14px/1.5 system-ui, sans-serif }
.comment { border: 1px solid var(--line); border-radius: 6px } .body { padding: 16px }
.by { background: var(--head); border-bottom: 1px solid var(--line); border-radius: 6px 6px 0 0; padding: 8px 16px;
  color: var(--soft) } .by b { color: var(--text) }
a { color: var(--link); text-decoration: none } h3 { margin: 0 0 16px; line-height: 1.25 } b, strong { font-weight: 600 }
p, ul, details, table { margin: 0 0 16px } .body > :last-child { margin-bottom: 0 } ul { padding-left: 2em }
img { max-width: 100%; box-sizing: content-box }
code { background: var(--code); padding: .2em .4em; border-radius: 6px; font: 85% ui-monospace, monospace;
  white-space: break-spaces }
table { display: block; width: max-content; max-width: 100%; overflow: auto; border-collapse: collapse; border-spacing: 0 }
th, td { border: 1px solid var(--line); padding: 6px 13px } th { font-weight: 600 }
tr { background: var(--page); border-top: 1px solid var(--line) } tr:nth-child(2n) { background: var(--head) }
STYLE</style><body class="THEME"><div class=comment><div class=by><b>ci-bot</b> commented 2 minutes ago</div>
<div class=body>COMMENT</div></div>"""

_STYLES = {
    "github": """h3 { font-size: 17.5px } li + li { margin-top: .25em }
.light { --text: #1f2328; --soft: #59636e; --page: #fff; --line: #d1d9e0; --head: #f6f8fa; --code: #818b981f;
  --link: #0969da } .dark { --text: #f0f6fc; --soft: #9198a1; --page: #0d1117; --line: #3d444d; --head: #151b23;
  --code: #656c7633; --link: #4493f8 }""",
    "gitlab": """h3 { font-size: 17.5px } li { line-height: 1.6 } summary { margin-bottom: 4px } th, td { padding: 12px 16px }
.light { --text: #28272d; --soft: #626168; --page: #fff; --line: #dcdcde; --head: #fbfafd; --code: #ececef;
  --link: #1f75cb } .dark { --text: #ececef; --soft: #a4a3a8; --page: #18171d; --line: #4c4b51; --head: #28272d;
  --code: #28272d; --link: #63a6e9 }""",
    "gitea": """h3 { font-size: 17.5px; margin-bottom: 16px } li + li { margin-top: .25em }
.light { --text: #181c21; --soft: #5b6167; --page: #fff; --line: #d4d4d5; --head: #f6f7fa; --code: #6e79871a;
  --link: #4183c4 } .dark { --text: #d2d6db; --soft: #9ea2a6; --page: #171b20; --line: #3b444c; --head: #232a31;
  --code: #404a5280; --link: #5fa4ef }""",
}
_RENDERERS = {"github": "cmark-gfm", "gitlab": "comrak", "gitea": "markdown-it"}
FORGES = tuple(_STYLES)


def open_comment(browser: Browser, markdown: str, forge: str, theme: str) -> Page:
    """Open a page with the comment, and wait for its images."""
    page = browser.new_page(viewport={"width": PAGE_WIDTH, "height": 400})
    html = _PAGE.replace("STYLE", _STYLES[forge]).replace("THEME", theme)
    page.set_content(html.replace("COMMENT", RENDERERS[_RENDERERS[forge]](markdown)), wait_until="load")
    return page
