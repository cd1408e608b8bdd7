import { command, docker, git, image, number, text, toggle } from './common.ts';
import type { Section, Setting } from './setting.ts';
import { runSections } from './table-runs.ts';

const all = ['APPLICATION', 'CONTAINER', 'DATABASE', 'JOB', 'HELM', 'TERRAFORM'] as const;
const processes = ['APPLICATION', 'CONTAINER'] as const;

const ports: Setting = {
  path: 'ports',
  label: 'Ports',
  help: 'Public ports have an address outside the environment. A port without a name gets one.',
  control: {
    kind: 'rows',
    add: 'Add a port',
    blank: { internal_port: 8080, protocol: 'HTTP', publicly_accessible: true },
    columns: [
      { name: 'internal_port', label: 'Port', kind: 'number', width: '88px' },
      { name: 'name', label: 'Name', kind: 'text' },
      { name: 'protocol', label: 'Protocol', kind: ['HTTP', 'GRPC', 'TCP', 'UDP'], width: '92px' },
      { name: 'public_path', label: 'Path', kind: 'text' },
      { name: 'publicly_accessible', label: 'Public', kind: 'check', width: '60px' },
      { name: 'is_default', label: 'Default', kind: 'check', width: '60px' },
    ],
  },
};
/** The sections of the settings page, in order. */
export const sections: readonly Section[] = [
  {
    title: 'General',
    kinds: all,
    settings: [
      { path: 'name', label: 'Name', help: 'Name in lists and in new addresses.', control: text, isImmediate: true },
      { path: 'description', label: 'Description', help: 'For the people who work with it.', control: text, isImmediate: true },
    ],
  },
  {
    title: 'Deployment',
    kinds: ['APPLICATION', 'CONTAINER', 'JOB', 'HELM'],
    settings: [
      {
        path: 'auto_deploy',
        label: 'Deploy automatically',
        help: 'A push to the branch, or a new image of the tag, deploys it.',
        control: toggle,
        isImmediate: true,
      },
      {
        path: 'auto_preview',
        label: 'Previews',
        help: 'A pull request gets a copy of the environment.',
        control: toggle,
        isImmediate: true,
      },
    ],
  },
  ...runSections,
  { title: 'Source', kinds: ['APPLICATION'], settings: [...git('git_repository'), ...docker('')] },
  { title: 'Image', kinds: ['CONTAINER'], settings: image('') },
  {
    title: 'Process',
    kinds: processes,
    settings: command.map(([label, path, help, control]) => ({ path, label, help, control })),
  },
  {
    title: 'Resources',
    kinds: ['APPLICATION', 'CONTAINER', 'DATABASE', 'JOB'],
    settings: [
      { path: 'cpu', label: 'Processor', help: 'Of each instance: 1,000 is one core.', control: number('millicores') },
      { path: 'memory', label: 'Memory', help: 'Of each instance. One that needs more is ended.', control: number('MiB') },
    ],
  },
  {
    title: 'Instances',
    kinds: processes,
    settings: [
      { path: 'min_running_instances', label: 'Least', help: 'Instances that always run.', control: number('instances') },
      {
        path: 'max_running_instances',
        label: 'Most',
        help: 'More than the least: instances are added and removed by load.',
        control: number('instances'),
      },
    ],
  },
  { title: 'Ports', kinds: processes, settings: [ports] },
  {
    title: 'Volumes',
    kinds: processes,
    settings: [
      {
        path: 'storage',
        label: 'Volumes',
        help: 'Folders that outlive instances. A volume that is taken out is deleted with its data.',
        control: {
          kind: 'rows',
          add: 'Add a volume',
          blank: { type: 'FAST_SSD', size: 10, mount_point: '/data' },
          columns: [
            { name: 'mount_point', label: 'Folder', kind: 'text' },
            { name: 'size', label: 'GiB', kind: 'number', width: '96px' },
          ],
        },
      },
    ],
  },
  {
    title: 'Health checks',
    kinds: processes,
    settings: [
      {
        path: 'healthchecks.readiness_probe',
        label: 'Ready',
        help: 'Requests go to an instance only while this probe succeeds.',
        control: { kind: 'probe' },
      },
      {
        path: 'healthchecks.liveness_probe',
        label: 'Alive',
        help: 'An instance is restarted when this probe fails.',
        control: { kind: 'probe' },
      },
    ],
  },
  {
    title: 'Database',
    kinds: ['DATABASE'],
    settings: [
      { path: 'version', label: 'Version', help: 'A newer version of the same type.', control: text },
      {
        path: 'accessibility',
        label: 'Access',
        help: 'Private: services of its environment. Public: everybody who knows address and password.',
        control: { kind: 'choice', options: ['PRIVATE', 'PUBLIC'] },
      },
      { path: 'storage', label: 'Storage', help: 'It can grow, and not shrink.', control: number('GiB') },
    ],
  },
];
