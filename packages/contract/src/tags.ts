/**
 * Descriptions of the operations' tags, for readers of the OpenAPI document. Each tag needs one: a test lints the
 * document.
 */
export const tagDescriptions: Readonly<Record<string, string>> = {
  Account: 'The person who calls, and their session',
  'Advanced settings': 'Details of how a service or a cluster runs, which rarely need to change',
  'Annotation group': 'Annotations that services of an organization share',
  'API token': 'Tokens with which programs call the API',
  Application: 'Services that are built from a git repository',
  'Cloud catalogue': 'What cloud vendors offer: regions, features, instance types, managed databases',
  'Cloud credentials': 'Accounts at cloud vendors with which clusters are managed',
  'Certificate authority': 'The installation’s own authority, for domains that no public authority can reach',
  Cluster: 'Where environments run',
  Container: 'Services that run an image of a container registry',
  'Container registry': 'Registries of images, with their credentials',
  'Custom domain': 'Your own domains at which a service answers',
  Database: 'Databases with their volume, credentials and backups',
  'Deployment queue': 'Deployments that wait or run, and their outcome',
  'Deployment restriction': 'Which changes in git trigger a deployment',
  'Deployment rule': 'When environments start and stop automatically',
  'Deployment stage': 'The order in which the services of an environment are deployed',
  Environment: 'Services that are deployed together on one cluster',
  'Git event': 'Pushes and pull requests of git hosts, and what they led to',
  'Git token': 'Tokens for reading private git repositories',
  Helm: 'Services that are charts',
  'Helm repository': 'Repositories of charts, with their credentials',
  Job: 'Services that run and end: at times, or at events of their environment',
  'Label group': 'Labels that services of an organization share',
  Member: 'People of an organization, and invitations',
  Organization: 'The owner of everything else',
  Project: 'Environments of one product',
  Release: 'What services run: their settings at the time of a deployment',
  Role: 'Permissions of members and tokens',
  'Service log': 'What instances of services printed',
  'Sign-in': 'Accounts with a password, and their sessions',
  Stream: 'Live events',
  Terraform: 'Services that are Terraform or OpenTofu configurations',
  Variable: 'Variables and secrets of projects, environments and services',
  Webhook: 'URLs that are notified of deployments',
};

interface TagSection {
  readonly title: string;
  readonly tags: readonly string[];
}

/**
 * The tags in the order in which a user meets them: who calls, where things belong, what runs, how it is deployed and
 * watched, and what is around it. Each tag is in one section.
 */
export const tagSections: readonly TagSection[] = [
  { title: 'You', tags: ['Sign-in', 'Account'] },
  { title: 'Organization', tags: ['Organization', 'API token', 'Member', 'Role', 'Webhook'] },
  { title: 'Project and environment', tags: ['Project', 'Environment', 'Deployment stage', 'Deployment rule'] },
  { title: 'Services', tags: ['Application', 'Container', 'Database', 'Job', 'Helm', 'Terraform'] },
  { title: 'Deployments', tags: ['Deployment queue', 'Release', 'Deployment restriction', 'Git event'] },
  { title: 'Logs and events', tags: ['Service log', 'Stream'] },
  { title: 'Configuration', tags: ['Variable', 'Custom domain', 'Certificate authority', 'Label group', 'Annotation group'] },
  { title: 'Sources', tags: ['Git token', 'Container registry', 'Helm repository'] },
  { title: 'Clusters', tags: ['Cluster', 'Cloud credentials', 'Cloud catalogue'] },
];
