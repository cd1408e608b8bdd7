import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router';
import { auditFilterIn } from './data/organization-audit.ts';
import { Frame } from './frame/frame.tsx';
import { DeploymentPage } from './pages/deployment.tsx';
import { DeploymentsOfEnvironment, EnvironmentPage } from './pages/environment.tsx';
import { Overview } from './pages/overview.tsx';
import { ServicePage, Summary } from './pages/service.tsx';
import { ServicesOfEnvironment } from './pages/services.tsx';
import { Face } from './parts/face.tsx';

const root = createRootRoute({
  component: Frame,
  notFoundComponent: () => (
    <Face icon="empty" title="Not found" isPage>
      The console has no such page.
    </Face>
  ),
  errorComponent: ({ error }) => (
    <Face icon="broken" title="The console failed" isPage>
      {error instanceof Error ? error.message : 'Load the page again.'}
    </Face>
  ),
});
const overview = createRoute({ getParentRoute: () => root, path: '/', component: Overview });
const organization = createRoute({ getParentRoute: () => root, path: '/organization/$organizationId', component: Overview });
const parts = createRoute({
  getParentRoute: () => root,
  path: '/parts',
  component: lazyRouteComponent(() => import('./pages/parts/parts.tsx'), 'PartsPage'),
});
const environment = createRoute({ getParentRoute: () => root, path: '/environment/$environmentId', component: EnvironmentPage });
const services = createRoute({ getParentRoute: () => environment, path: '/', component: ServicesOfEnvironment });
const graph = createRoute({
  getParentRoute: () => environment,
  path: '/graph',
  component: lazyRouteComponent(() => import('./pages/graph/graph.tsx'), 'GraphPage'),
});
const deployments = createRoute({
  getParentRoute: () => environment,
  path: '/deployments',
  component: DeploymentsOfEnvironment,
});
const deployment = createRoute({
  getParentRoute: () => root,
  path: '/environment/$environmentId/deployment/$executionId',
  component: DeploymentPage,
});
const service = createRoute({
  getParentRoute: () => root,
  path: '/environment/$environmentId/service/$serviceId',
  component: ServicePage,
});
const summary = createRoute({ getParentRoute: () => service, path: '/', component: Summary });
const logs = createRoute({
  getParentRoute: () => service,
  path: '/logs',
  validateSearch: ({ find, wrap }: Record<string, unknown>): { find?: string; wrap?: boolean } => ({
    ...(typeof find === 'string' && find !== '' ? { find } : {}),
    ...(wrap === true ? { wrap } : {}),
  }),
  component: lazyRouteComponent(() => import('./pages/logs.tsx'), 'LogsPage'),
});

// The further tabs of a service, each loaded when it is opened.
const variables = createRoute({
  getParentRoute: () => service,
  path: '/variables',
  validateSearch: ({ find, by }: Record<string, unknown>): { find?: string; by?: 'process' | 'scope' } => ({
    ...(typeof find === 'string' && find !== '' ? { find } : {}),
    ...(by === 'scope' ? { by } : {}),
  }),
  component: lazyRouteComponent(() => import('./pages/variables/variables.tsx'), 'VariablesPage'),
});
const history = createRoute({
  getParentRoute: () => service,
  path: '/history',
  validateSearch: ({ only }: Record<string, unknown>): { only?: 'all' | 'deployments' | 'changes' } =>
    only === 'deployments' || only === 'changes' ? { only } : {},
  component: lazyRouteComponent(() => import('./pages/history/history.tsx'), 'HistoryPage'),
});
const withFind = ({ find }: Record<string, unknown>): { find?: string } =>
  typeof find === 'string' && find !== '' ? { find } : {};
const settings = createRoute({
  getParentRoute: () => service,
  path: '/settings',
  validateSearch: withFind,
  component: lazyRouteComponent(() => import('./pages/settings/settings.tsx'), 'SettingsPage'),
});
const metrics = createRoute({
  getParentRoute: () => service,
  path: '/metrics',
  validateSearch: ({ minutes }: Record<string, unknown>): { minutes?: number } =>
    typeof minutes === 'number' && [360, 1440, 10_080, 43_200].includes(minutes) ? { minutes } : {},
  component: lazyRouteComponent(() => import('./pages/metrics/metrics.tsx'), 'MetricsPage'),
});
const domains = createRoute({
  getParentRoute: () => service,
  path: '/domains',
  component: lazyRouteComponent(() => import('./pages/domains/domains.tsx'), 'DomainsPage'),
});
const connection = createRoute({
  getParentRoute: () => service,
  path: '/connection',
  component: lazyRouteComponent(() => import('./pages/database/connection.tsx'), 'ConnectionPage'),
});
const backups = createRoute({
  getParentRoute: () => service,
  path: '/backups',
  component: lazyRouteComponent(() => import('./pages/database/backups.tsx'), 'BackupsPage'),
});
const runs = createRoute({
  getParentRoute: () => service,
  path: '/runs',
  component: lazyRouteComponent(() => import('./pages/runs/runs.tsx'), 'RunsPage'),
});
const gitEvents = createRoute({
  getParentRoute: () => service,
  path: '/git-events',
  component: lazyRouteComponent(() => import('./pages/git-events/git-events.tsx'), 'GitEventsPage'),
});
const compare = createRoute({
  getParentRoute: () => service,
  path: '/history/compare',
  validateSearch: ({ from, to }: Record<string, unknown>): { from?: string | undefined; to?: string | undefined } => ({
    ...(typeof from === 'string' && { from }),
    ...(typeof to === 'string' && { to }),
  }),
  component: lazyRouteComponent(() => import('./pages/compare/compare.tsx'), 'ComparePage'),
});
const serviceTabs = [metrics, history, compare, variables, domains, connection, backups, runs, gitEvents, settings] as const;
const previews = createRoute({
  getParentRoute: () => environment,
  path: '/previews',
  component: lazyRouteComponent(() => import('./pages/previews/previews.tsx'), 'PreviewsPage'),
});
const webhooks = createRoute({
  getParentRoute: () => root,
  path: '/organization/$organizationId/webhooks',
  component: lazyRouteComponent(() => import('./pages/webhooks/webhooks.tsx'), 'WebhooksPage'),
});

// Pages where something begins: projects, environments, services.
const newProject = createRoute({
  getParentRoute: () => root,
  path: '/organization/$organizationId/new',
  component: lazyRouteComponent(() => import('./pages/project/new-project.tsx'), 'NewProjectPage'),
});
const project = createRoute({
  getParentRoute: () => root,
  path: '/project/$projectId',
  component: lazyRouteComponent(() => import('./pages/project/project.tsx'), 'ProjectPage'),
});
const newService = createRoute({
  getParentRoute: () => root,
  path: '/environment/$environmentId/new',
  validateSearch: ({ kind }: Record<string, unknown>): { kind?: string } => (typeof kind === 'string' ? { kind } : {}),
  component: lazyRouteComponent(() => import('./pages/new-service/new-service.tsx'), 'NewServicePage'),
});
const environmentSettings = createRoute({
  getParentRoute: () => environment,
  path: '/settings',
  component: lazyRouteComponent(() => import('./pages/project/environment-settings.tsx'), 'EnvironmentSettings'),
});
const beginnings = [newProject, project, newService] as const;

// The person, and what an organization has besides projects.
const account = createRoute({
  getParentRoute: () => root,
  path: '/account',
  component: lazyRouteComponent(() => import('./pages/account/account.tsx'), 'AccountPage'),
});
const organizationLayout = createRoute({
  getParentRoute: () => root,
  id: 'organization',
  component: lazyRouteComponent(() => import('./pages/organization/layout.tsx'), 'OrganizationLayout'),
});
const members = createRoute({
  getParentRoute: () => organizationLayout,
  path: '/organization/$organizationId/members',
  component: lazyRouteComponent(() => import('./pages/organization/members.tsx'), 'MembersPage'),
});
const roles = createRoute({
  getParentRoute: () => organizationLayout,
  path: '/organization/$organizationId/roles',
  component: lazyRouteComponent(() => import('./pages/organization/roles.tsx'), 'RolesPage'),
});
const tokens = createRoute({
  getParentRoute: () => organizationLayout,
  path: '/organization/$organizationId/tokens',
  component: lazyRouteComponent(() => import('./pages/organization/tokens.tsx'), 'TokensPage'),
});
const audit = createRoute({
  getParentRoute: () => organizationLayout,
  path: '/organization/$organizationId/audit',
  validateSearch: auditFilterIn,
  component: lazyRouteComponent(() => import('./pages/organization/audit.tsx'), 'AuditPage'),
});
const clusters = createRoute({
  getParentRoute: () => organizationLayout,
  path: '/organization/$organizationId/clusters',
  component: lazyRouteComponent(() => import('./pages/organization/clusters.tsx'), 'ClustersPage'),
});
const cluster = createRoute({
  getParentRoute: () => organizationLayout,
  path: '/organization/$organizationId/clusters/$clusterId',
  component: lazyRouteComponent(() => import('./pages/organization/cluster.tsx'), 'ClusterPage'),
});
const registries = createRoute({
  getParentRoute: () => organizationLayout,
  path: '/organization/$organizationId/registries',
  component: lazyRouteComponent(() => import('./pages/organization/registries.tsx'), 'RegistriesPage'),
});
const gitTokens = createRoute({
  getParentRoute: () => organizationLayout,
  path: '/organization/$organizationId/git-tokens',
  component: lazyRouteComponent(() => import('./pages/organization/git-tokens.tsx'), 'GitTokensPage'),
});
const credentials = createRoute({
  getParentRoute: () => organizationLayout,
  path: '/organization/$organizationId/credentials',
  component: lazyRouteComponent(() => import('./pages/organization/credentials.tsx'), 'CredentialsPage'),
});
const groups = createRoute({
  getParentRoute: () => organizationLayout,
  path: '/organization/$organizationId/groups',
  component: lazyRouteComponent(() => import('./pages/organization/groups.tsx'), 'GroupsPage'),
});
const organizationSettings = createRoute({
  getParentRoute: () => organizationLayout,
  path: '/organization/$organizationId/settings',
  component: lazyRouteComponent(() => import('./pages/organization/settings.tsx'), 'OrganizationSettings'),
});
const organizationPages = organizationLayout.addChildren([
  members,
  roles,
  tokens,
  audit,
  clusters,
  cluster,
  registries,
  gitTokens,
  credentials,
  groups,
  organizationSettings,
]);

export const router = createRouter({
  basepath: '/console',
  routeTree: root.addChildren([
    overview,
    organization,
    parts,
    webhooks,
    environment.addChildren([services, graph, deployments, previews, environmentSettings]),
    ...beginnings,
    account,
    organizationPages,
    deployment,
    service.addChildren([summary, logs, ...serviceTabs]),
  ]),
  scrollRestoration: true,
  // A page of another record begins anew: answers, errors, passwords and questions of the former one do not stay.
  defaultRemountDeps: ({ params }) => params,
  defaultPreload: false,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
