import { commandAt, docker, git, image, lines, number, text, toggle } from './common.ts';
import type { Section, Setting } from './setting.ts';

const pairs = (path: string, label: string, help: string): Setting => ({
  path,
  label,
  help,
  control: {
    kind: 'rows',
    add: 'Add a value',
    blank: ['', ''],
    isPairs: true,
    columns: [
      { name: '0', label: 'Name', kind: 'text' },
      { name: '1', label: 'Value', kind: 'text' },
    ],
  },
});

/** The sections of jobs, charts and Terraform configurations. */
export const runSections: readonly Section[] = [
  {
    title: 'Source',
    kinds: ['JOB'],
    needs: 'source.docker',
    settings: [
      ...git('source.docker.git_repository'),
      ...docker('source.docker.'),
      {
        path: 'source.docker.dockerfile_raw',
        label: 'Text of the Dockerfile',
        help: 'Used instead of a file of the repository.',
        control: { kind: 'code' },
      },
    ],
  },
  { title: 'Image', kinds: ['JOB'], needs: 'source.image', settings: image('source.image.') },
  {
    title: 'Chart',
    kinds: ['HELM'],
    needs: 'source.repository',
    settings: [
      {
        path: 'source.helm_repository.chart_name',
        from: 'source.repository.chart_name',
        label: 'Chart',
        help: 'Name of the chart in its repository.',
        control: text,
      },
      {
        path: 'source.helm_repository.chart_version',
        from: 'source.repository.chart_version',
        label: 'Version',
        help: 'Version of the chart.',
        control: text,
      },
      {
        path: 'source.helm_repository.repository',
        from: 'source.repository.repository.id',
        label: 'Repository',
        help: 'Id of the Helm repository of the organization.',
        control: text,
      },
    ],
  },
  {
    title: 'Chart',
    kinds: ['HELM'],
    needs: 'source.git',
    settings: git('source.git_repository', 'source.git.git_repository'),
  },
  {
    title: 'Source',
    kinds: ['TERRAFORM'],
    settings: git('terraform_files_source.git_repository', 'terraform_files_source.git.git_repository'),
  },
  {
    title: 'Schedule',
    kinds: ['JOB'],
    needs: 'schedule.cronjob',
    settings: [
      {
        path: 'schedule.cronjob.scheduled_at',
        label: 'Schedule',
        help: 'Minute, hour, day of month, month, day of week: 30 2 * * * is every night at 2:30.',
        control: text,
      },
      { path: 'schedule.cronjob.timezone', label: 'Time zone', help: 'As Europe/Berlin; default Etc/UTC.', control: text },
      ...commandAt('schedule.cronjob', 'Run'),
    ],
  },
  {
    title: 'Runs',
    kinds: ['JOB'],
    needs: 'schedule.lifecycle_type',
    settings: [
      ...commandAt('schedule.on_start', 'Deploy'),
      ...commandAt('schedule.on_stop', 'Stop'),
      ...commandAt('schedule.on_delete', 'Delete'),
    ],
  },
  {
    title: 'Limits',
    kinds: ['JOB'],
    settings: [
      { path: 'max_nb_restart', label: 'Repetitions', help: 'How often a failed run is repeated.', control: number('times') },
      {
        path: 'max_duration_seconds',
        label: 'Longest run',
        help: 'A longer run is ended and has failed.',
        control: number('seconds'),
      },
    ],
  },
  {
    title: 'Values',
    kinds: ['HELM'],
    settings: [
      pairs('values_override.set', 'Values', 'As --set.'),
      pairs('values_override.set_string', 'Texts', 'As --set-string: never read as number or truth.'),
      pairs('values_override.set_json', 'JSON', 'As --set-json.'),
      {
        path: 'values_override.file.raw.values',
        label: 'Values files',
        help: 'In this order; later files win.',
        control: {
          kind: 'rows',
          add: 'Add a file',
          blank: { name: 'values.yaml', content: '' },
          columns: [
            { name: 'name', label: 'Name', kind: 'text', width: '30%' },
            { name: 'content', label: 'YAML', kind: 'text' },
          ],
        },
      },
    ],
  },
  {
    title: 'Installation',
    kinds: ['HELM'],
    settings: [
      { path: 'arguments', label: 'Arguments', help: 'Further arguments of helm upgrade, one a line.', control: lines },
      { path: 'timeout_sec', label: 'Time limit', help: 'A longer installation has failed.', control: number('seconds') },
      {
        path: 'allow_cluster_wide_resources',
        label: 'Cluster-wide resources',
        help: 'The chart may create resources outside its namespace.',
        control: toggle,
      },
    ],
  },
  {
    title: 'Terraform',
    kinds: ['TERRAFORM'],
    settings: [
      {
        path: 'engine',
        label: 'Engine',
        help: 'The program that plans and applies.',
        control: { kind: 'choice', options: ['TERRAFORM', 'OPEN_TOFU'] },
      },
      { path: 'provider_version.explicit_version', label: 'Version', help: 'Version of the engine.', control: text },
      {
        path: 'timeout_sec',
        label: 'Time limit',
        help: 'A longer run is ended; its state is stored.',
        control: number('seconds'),
      },
      {
        path: 'use_cluster_credentials',
        label: 'Cluster credentials',
        help: 'Runs get the credentials of the cluster.',
        control: toggle,
      },
    ],
  },
  {
    title: 'Terraform variables',
    kinds: ['TERRAFORM'],
    settings: [
      {
        path: 'terraform_variables_source.tf_var_file_paths',
        label: 'Files',
        help: 'Paths of .tfvars files, one a line.',
        control: lines,
      },
      {
        path: 'terraform_variables_source.tf_vars',
        label: 'Variables',
        help: 'An empty value of a secret leaves it as it is.',
        control: {
          kind: 'rows',
          add: 'Add a variable',
          blank: { key: '', value: '', secret: false },
          columns: [
            { name: 'key', label: 'Name', kind: 'text' },
            { name: 'value', label: 'Value', kind: 'text' },
            { name: 'secret', label: 'Secret', kind: 'check', width: '60px' },
          ],
        },
      },
    ],
  },
  {
    title: 'Resources of a run',
    kinds: ['TERRAFORM'],
    settings: [
      { path: 'job_resources.cpu_milli', label: 'Processor', help: '1,000 is one core.', control: number('millicores') },
      { path: 'job_resources.ram_mib', label: 'Memory', help: 'A run that needs more is ended.', control: number('MiB') },
      {
        path: 'job_resources.storage_gib',
        label: 'Storage',
        help: 'For the repository and the plugins.',
        control: number('GiB'),
      },
    ],
  },
];
