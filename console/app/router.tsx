/** Every page has an address, and every filter is in it. */
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from "@tanstack/react-router";
import { WIRE_STATUSES, type WireStatus } from "../../src/contract/job-status.ts";
import { METRICS_WINDOWS, type MetricsWindow } from "../../src/contract/metrics-window.ts";
import { ApiError, SIGNED_IN_MARK } from "./api/http.ts";
import { accountQuery, client } from "./api/queries.ts";
import { Problem } from "./parts/basics.tsx";
import { Layout } from "./parts/layout.tsx";

type LogSearch = { search?: string; workerId?: string; source?: "container" | "system" };

const rootRoute = createRootRoute({
  notFoundComponent: () => <Problem error={new Error("There is no such page.")} />,
});

const signIn = createRoute({
  getParentRoute: () => rootRoute,
  path: "/sign-in",
  validateSearch: ({ next }: Record<string, unknown>): { next?: string } =>
    // Only a path of our own: no link may lead elsewhere after signing in.
    typeof next === "string" && /^\/(?![/\\])/.test(next) ? { next } : {},
  component: lazyRouteComponent(() => import("./pages/sign-in.tsx"), "SignIn"),
});

const signedIn = createRoute({
  getParentRoute: () => rootRoute,
  id: "signed-in",
  beforeLoad: async ({ location }) => {
    const toSignIn = redirect({ to: "/sign-in", search: { next: location.href } });
    // Nothing is asked for in a browser that has never signed in.
    if (localStorage.getItem(SIGNED_IN_MARK) === null) throw toSignIn;
    try {
      await client.ensureQueryData(accountQuery);
    } catch (error) {
      throw error instanceof ApiError && error.status === 401 ? toSignIn : error;
    }
  },
  errorComponent: ({ error }) => (
    <Problem error={error instanceof Error ? error : new Error("This page has failed.")} />
  ),
  component: Layout,
});

const page = <Path extends string>(path: Path) => ({ getParentRoute: () => signedIn, path });

const overview = createRoute({
  ...page("/"),
  component: lazyRouteComponent(() => import("./pages/overview.tsx"), "OverviewPage"),
});
const newEndpoint = createRoute({
  ...page("/endpoints/new"),
  component: lazyRouteComponent(() => import("./pages/new-endpoint.tsx"), "NewEndpoint"),
});
const endpoint = createRoute({
  ...page("/endpoints/$endpointId"),
  component: lazyRouteComponent(() => import("./pages/endpoint.tsx"), "EndpointPage"),
});

const ofEndpoint = <Path extends string>(path: Path) => ({ getParentRoute: () => endpoint, path });

const jobs = createRoute({
  ...ofEndpoint("/"),
  validateSearch: ({ status }: Record<string, unknown>): { status?: WireStatus } => {
    const known = WIRE_STATUSES.find((one) => one === status);
    return known ? { status: known } : {};
  },
  component: lazyRouteComponent(() => import("./pages/jobs.tsx"), "JobsTab"),
});
const run = createRoute({
  ...ofEndpoint("run"),
  component: lazyRouteComponent(() => import("./pages/run.tsx"), "RunTab"),
});
const workers = createRoute({
  ...ofEndpoint("workers"),
  component: lazyRouteComponent(() => import("./pages/workers.tsx"), "WorkersTab"),
});
const logs = createRoute({
  ...ofEndpoint("logs"),
  validateSearch: ({ search, workerId, source }: Record<string, unknown>): LogSearch => ({
    ...(typeof search === "string" && search !== "" && { search }),
    ...(typeof workerId === "string" && { workerId }),
    ...((source === "container" || source === "system") && { source }),
  }),
  component: lazyRouteComponent(() => import("./pages/logs.tsx"), "LogsTab"),
});
const metrics = createRoute({
  ...ofEndpoint("metrics"),
  validateSearch: ({ window }: Record<string, unknown>): { window?: MetricsWindow } => {
    const known = METRICS_WINDOWS.find((one) => one === window);
    return known ? { window: known } : {};
  },
  component: lazyRouteComponent(() => import("./pages/metrics.tsx"), "MetricsTab"),
});
const versions = createRoute({
  ...ofEndpoint("versions"),
  component: lazyRouteComponent(() => import("./pages/versions.tsx"), "VersionsTab"),
});
const settings = createRoute({
  ...ofEndpoint("settings"),
  component: lazyRouteComponent(() => import("./pages/settings.tsx"), "SettingsTab"),
});
const job = createRoute({
  ...page("/endpoints/$endpointId/jobs/$jobId"),
  component: lazyRouteComponent(() => import("./pages/job.tsx"), "JobPage"),
});
const hosts = createRoute({
  ...page("/hosts"),
  component: lazyRouteComponent(() => import("./pages/hosts.tsx"), "HostsPage"),
});
const pods = createRoute({
  ...page("/pods"),
  component: lazyRouteComponent(() => import("./pages/pods.tsx"), "PodsPage"),
});
const apps = createRoute({
  ...page("/apps"),
  component: lazyRouteComponent(() => import("./pages/apps.tsx"), "AppsPage"),
});
const app = createRoute({
  ...page("/apps/$appId"),
  component: lazyRouteComponent(() => import("./pages/app.tsx"), "AppPage"),
});
const templates = createRoute({
  ...page("/templates"),
  component: lazyRouteComponent(() => import("./pages/templates.tsx"), "TemplatesPage"),
});
const template = createRoute({
  ...page("/templates/$templateId"),
  component: lazyRouteComponent(() => import("./pages/template.tsx"), "TemplatePage"),
});
const volumes = createRoute({
  ...page("/volumes"),
  component: lazyRouteComponent(() => import("./pages/volumes.tsx"), "VolumesPage"),
});
const registries = createRoute({
  ...page("/registries"),
  component: lazyRouteComponent(() => import("./pages/registries.tsx"), "RegistriesPage"),
});
const webhooks = createRoute({
  ...page("/webhooks"),
  component: lazyRouteComponent(() => import("./pages/webhooks.tsx"), "WebhooksPage"),
});
const secrets = createRoute({
  ...page("/secrets"),
  component: lazyRouteComponent(() => import("./pages/secrets.tsx"), "SecretsPage"),
});
const usage = createRoute({
  ...page("/usage"),
  validateSearch: ({ days }: Record<string, unknown>): { days?: number } =>
    days === 7 || days === 90 ? { days } : {},
  component: lazyRouteComponent(() => import("./pages/usage.tsx"), "UsagePage"),
});
const audit = createRoute({
  ...page("/audit"),
  component: lazyRouteComponent(() => import("./pages/audit.tsx"), "AuditPage"),
});
const access = createRoute({
  ...page("/access"),
  component: lazyRouteComponent(() => import("./pages/access.tsx"), "AccessPage"),
});

const account = createRoute({
  ...page("/settings"),
  component: lazyRouteComponent(() => import("./pages/account.tsx"), "AccountPage"),
});

export const router = createRouter({
  routeTree: rootRoute.addChildren([
    signIn,
    signedIn.addChildren([
      overview,
      newEndpoint,
      endpoint.addChildren([jobs, run, workers, logs, metrics, versions, settings]),
      job,
      hosts,
      pods,
      apps,
      app,
      templates,
      template,
      volumes,
      registries,
      webhooks,
      secrets,
      usage,
      audit,
      access,
      account,
    ]),
  ]),
  defaultPreload: "intent",
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
