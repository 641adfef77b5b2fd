"""The dashboard's API: for the pages we serve, authenticated by session. It is not a stable contract.

routing.py      the steps of every route: who is signed in, the origin check, the project, the reply
routes.py       the list of all routes
<resource>.py   the handlers of one resource, and their routes
view_types.py   the shapes of the replies; typescript.py makes the dashboard's types from them
"""
