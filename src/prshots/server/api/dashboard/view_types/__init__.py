"""The shapes of the dashboard API's JSON, by subject. Times are Unix seconds; sizes are bytes.

`web/make_types.py` generates the TypeScript types from these modules. A string below a field becomes the
field's comment there.
"""

from typing import TypedDict

from prshots.server.api.dashboard.view_types.branches import *
from prshots.server.api.dashboard.view_types.organizations import *
from prshots.server.api.dashboard.view_types.pull_requests import *


class DoneView(TypedDict):
    ok: bool
