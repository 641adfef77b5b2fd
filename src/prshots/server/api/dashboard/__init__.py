"""The dashboard's API, for its own pages. Authenticated by session, and not a stable contract.

routing.py      the steps that every route shares: session, origin check, project, reply
routes.py       the list of all routes
<resource>.py   the handlers of one resource, and their routes
view_types.py   the shapes of the replies; web/make_types.py generates the dashboard's types from them
"""
