"""The API component: the public routes, the dashboard's routes, sign-in, keyless upload."""
