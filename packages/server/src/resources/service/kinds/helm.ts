import { helmArgumentFaults, helmSettingFault } from '@davit/engine/port';
import { kinds, type Body, type operations, type Response } from '@davit/contract';
import { toCommit } from '../../shared/history-details.ts';
import { invalid, type Problems } from '../../shared/problems.ts';
import { isLocalDriver } from '../../../local-driver.ts';
import type { ServiceRow } from '../rows.ts';
import { toGitRepository, type GitRepositorySpec } from '../shapes/git.ts';
import { toGitRecord } from '../shapes/git-record.ts';
import { toHelmPorts, type HelmPortSpec } from '../shapes/helm-ports.ts';
import { toHelmValues, type HelmValuesSpec } from '../shapes/helm-values.ts';
import { defineKind, type SourceRow } from './kind.ts';
import type { Caps, ServiceSpec, SpecRules } from '../spec.ts';
import { noProcess, type ProcessParts } from './process.ts';
import { recordHead } from './record-head.ts';

type CreateRequest = Body<(typeof operations)['createHelm']>;
type EditRequest = Body<(typeof operations)['editHelm']>;
type DeployRequest = Body<(typeof operations)['deployHelm']>;
type HelmRecord = Response<(typeof operations)['getHelm']>;
type SourceRequest = NonNullable<EditRequest['source']>;

/** A chart of one of the organization's Helm repositories. */
interface ChartSpec {
  readonly repository: string;
  readonly chart_name: string;
  readonly chart_version: string;
}

/**
 * The settings of a Helm chart that users can change, with defaults applied. Stored in this form. Exactly one of the
 * two sources is set; the other is null.
 */
export interface HelmSpec extends ServiceSpec {
  readonly description: string;
  readonly timeout_sec: number;
  readonly auto_preview: boolean;
  readonly auto_deploy: boolean;
  readonly ports: readonly HelmPortSpec[];
  /** Has the same path as in the specs of all other types with a repository. */
  readonly git_repository: GitRepositorySpec | null;
  readonly source: { readonly helm_repository: ChartSpec | null };
  readonly arguments: readonly string[];
  readonly allow_cluster_wide_resources: boolean;
  readonly values_override: HelmValuesSpec;
}

const repositoryPath = 'source.git_repository';

/** The kind of services that install a chart on a Kubernetes cluster. */
export const helm = defineKind({
  type: kinds.HELM.type,
  stageName: 'CONTAINER DEFAULT',
  hostPrefix: 'helm',
  requestPrefixes: { docker: 'source.', image: '' },
  oldHistory: (view) => ({ commit: toCommit(view.commit, view.createdAt) }),
  create: newHelm,
  edit: editedHelm,
  record: toHelmRecord,
  workload: ({ ports }: HelmSpec) => ({
    ...noProcess,
    ports: ports.filter(({ namespace }) => namespace === null).map(toPublicPort),
  }),
  source: ({ spec }: SourceRow<HelmSpec>) => ({
    type: 'HELM',
    git:
      spec.git_repository === null
        ? null
        : {
            url: spec.git_repository.url,
            branch: spec.git_repository.branch,
            rootPath: spec.git_repository.root_path,
            gitTokenId: spec.git_repository.git_token_id,
          },
    chart: spec.source.helm_repository,
    arguments: spec.arguments,
    allowClusterWideResources: spec.allow_cluster_wide_resources,
    values: spec.values_override,
    ports: spec.ports,
    timeoutSeconds: spec.timeout_sec,
  }),
  obstacle: (_spec, driver) =>
    isLocalDriver(driver)
      ? 'is a Helm chart, which needs a Kubernetes cluster, and its environment is on the container engine of this machine. Put the ' +
        'environment on a Kubernetes cluster (cluster_id); or, to deploy the rest of it here, attach the chart to its stage with is_skipped.'
      : null,
  fault: (spec) => {
    const [fault] = helmArgumentFaults(spec.arguments);
    if (fault !== undefined) return `has the argument ${fault.name || '""'}, which ${fault.message} Edit its arguments.`;
    return settingFault(spec.values_override);
  },
  choice: (request: DeployRequest, query) => {
    const version = request?.chart_version ?? null;
    const releaseId = request?.release_id ?? null;
    const commitId = request?.git_commit_id?.toLowerCase() ?? null;
    const valuesCommitId = request?.values_override_git_commit_id?.toLowerCase() ?? null;
    if (releaseId !== null && (version ?? commitId ?? valuesCommitId) !== null) {
      throw invalid('release_id', 'cannot be sent together with a version or commit: a release has its own; send one of them');
    }
    const edit = version === null ? {} : { edit: { source: { helm_repository: { chart_version: version } } } };
    const isDiff = query?.['forceEvent'] === 'DIFF';
    return {
      releaseId,
      commitId,
      ...(valuesCommitId !== null && { valuesCommitId }),
      ...edit,
      ...(isDiff && { isDiff }),
      check: (spec) => checkCommits(spec, { commitId, valuesCommitId }),
    };
  },
});

/**
 * Returns the error for a name that Helm does not accept, or null. Such names are stored as written, and refused at the
 * deployment.
 */
function settingFault(values: HelmValuesSpec): string | null {
  for (const list of ['set', 'set_string', 'set_json'] as const) {
    for (const [index, [name = '']] of values[list].entries()) {
      const fault = helmSettingFault(name);
      if (fault !== null)
        return `has a name in values_override.${list}.${index} that cannot be passed to Helm: ${fault}. Edit its values_override.`;
    }
  }
  return null;
}

/**
 * Converts a port of a chart, which is always public: the chart itself manages its private ports. Ports in another
 * namespace are not part of the environment.
 */
function toPublicPort({ id, name, internal_port, protocol, is_default }: HelmPortSpec): ProcessParts['ports'][number] {
  return {
    id,
    name,
    internal_port,
    protocol,
    is_default,
    external_port: null,
    publicly_accessible: true,
    public_path: null,
    public_path_rewrite: null,
  };
}

/**
 * Fails if the request names a commit of a repository that the chart does not have. Otherwise the commit would be
 * silently ignored.
 */
function checkCommits(
  spec: ServiceSpec,
  { commitId, valuesCommitId }: { readonly commitId: string | null; readonly valuesCommitId: string | null },
): void {
  const { git_repository: git, values_override: values } = spec as HelmSpec; // oxlint-disable-line typescript/no-unsafe-type-assertion -- specs are stored with their type
  if (commitId !== null && git === null) {
    throw invalid('git_commit_id', 'is for charts that come from git; this one is of a Helm repository, so send chart_version');
  }
  if (valuesCommitId !== null && (values.file?.git ?? null) === null) {
    throw invalid('values_override_git_commit_id', 'is for values that come from git; values_override.file.git is not set');
  }
}

function newHelm(request: CreateRequest, rules: SpecRules): HelmSpec {
  const former: HelmSpec = {
    description: '',
    icon_uri: `app://davit-console/${kinds.HELM.icon}`,
    timeout_sec: 600,
    auto_preview: rules.autoPreview,
    auto_deploy: false,
    ports: [],
    git_repository: null,
    source: { helm_repository: null },
    arguments: [],
    allow_cluster_wide_resources: false,
    values_override: { set: [], set_string: [], set_json: [], file: null },
  };
  return editedHelm(request, former, rules);
}

/**
 * Returns the spec after a request. Omitted members stay. A list, `file` or a different type of source replaces the
 * former one.
 */
function editedHelm(request: EditRequest, former: HelmSpec, rules: SpecRules): HelmSpec {
  const { problems } = rules;
  return {
    description: request.description === undefined ? former.description : (request.description ?? ''),
    icon_uri: request.icon_uri ?? former.icon_uri,
    timeout_sec: request.timeout_sec ?? former.timeout_sec,
    auto_preview: request.auto_preview ?? former.auto_preview,
    auto_deploy: request.auto_deploy ?? former.auto_deploy,
    ports: request.ports ? toHelmPorts(request.ports, former.ports, problems) : former.ports,
    ...(request.source ? toSource(request.source, former, rules) : sourceOf(former)),
    arguments: request.arguments ?? former.arguments,
    allow_cluster_wide_resources: request.allow_cluster_wide_resources ?? former.allow_cluster_wide_resources,
    values_override: request.values_override
      ? toHelmValues(request.values_override, former.values_override, rules)
      : former.values_override,
  };
}

type Source = Pick<HelmSpec, 'git_repository' | 'source'>;

function sourceOf({ git_repository, source }: HelmSpec): Source {
  return { git_repository, source };
}

function toSource({ git_repository, helm_repository }: SourceRequest, former: HelmSpec, rules: SpecRules): Source {
  const { problems } = rules;
  if (git_repository && helm_repository) {
    problems.add('source', 'must have exactly one of git_repository and helm_repository; both are set');
  } else if (git_repository) {
    const repository = { problems, allowLocal: rules.allowLocalRepositories, at: repositoryPath };
    return {
      git_repository: toGitRepository(git_repository, former.git_repository, repository),
      source: { helm_repository: null },
    };
  } else if (helm_repository) {
    return { git_repository: null, source: { helm_repository: toChart(helm_repository, former, problems) } };
  } else {
    problems.add('source', 'must have exactly one of git_repository and helm_repository; none of them is set');
  }
  return sourceOf(former);
}

/** Returns the chart of a Helm repository after a request. Omitted members are taken from `former`. */
export function toChart(
  request: NonNullable<SourceRequest['helm_repository']>,
  former: HelmSpec | null,
  problems: Problems,
): ChartSpec {
  const before = former?.source.helm_repository ?? null;
  const chart = {
    repository: (request.repository ?? before?.repository ?? '').toLowerCase(),
    chart_name: request.chart_name ?? before?.chart_name ?? '',
    chart_version: request.chart_version ?? before?.chart_version ?? '',
  };
  const at = 'source.helm_repository';
  if (
    former !== null &&
    former.git_repository !== null &&
    before === null &&
    request.repository === undefined &&
    request.chart_name === undefined
  ) {
    problems.add(`${at}.chart_version`, 'is for charts of a Helm repository; this one comes from git, so send git_commit_id');
    return chart;
  }
  for (const [name, value] of Object.entries(chart)) if (value === '') problems.add(`${at}.${name}`, 'is required');
  // `helm pull` accepts a name, or folders and a name in an OCI registry.
  if (chart.chart_name !== '' && !/^[A-Za-z0-9][\w.-]*(\/[A-Za-z0-9][\w.-]*)*$/.test(chart.chart_name)) {
    problems.add(`${at}.chart_name`, 'must be the name of a chart, as in redis or team/redis: letters, digits, . _ - /');
  }
  if (chart.chart_version !== '' && !/^[A-Za-z0-9][\w.+-]*$/.test(chart.chart_version)) {
    problems.add(`${at}.chart_version`, 'must be one version, as in 1.2.3 or 1.2.3-rc.1+build (letters, digits, . _ + -)');
  }
  return chart;
}

function toHelmRecord(row: ServiceRow<HelmSpec>, _caps: Caps | null): HelmRecord {
  const { spec, chart: named } = row;
  return {
    ...recordHead(row, kinds.HELM.type),
    description: spec.description,
    icon_uri: spec.icon_uri,
    timeout_sec: spec.timeout_sec,
    auto_preview: spec.auto_preview,
    auto_deploy: spec.auto_deploy,
    ports: spec.ports.map(({ external_port, namespace, service_name, service_selectors, ...always }) => ({
      ...always,
      port_type: service_name === null ? ('SERVICE_SELECTORS' as const) : ('SERVICE_NAME' as const),
      ...(external_port === null ? {} : { external_port }),
      ...(namespace === null ? {} : { namespace }),
      ...(service_name === null ? {} : { service_name }),
      ...(service_selectors === null ? {} : { service_selectors: [...service_selectors] }),
    })),
    source: toSourceRecord(row),
    arguments: [...spec.arguments],
    allow_cluster_wide_resources: spec.allow_cluster_wide_resources,
    values_override: toValuesRecord(spec.values_override, named?.values_token_name ?? null),
  };
}

function toSourceRecord({ id, spec, chart, git_token_name, deployed_commit }: ServiceRow<HelmSpec>): HelmRecord['source'] {
  if (spec.git_repository !== null) {
    return { git: { git_repository: toGitRecord(spec.git_repository, git_token_name, deployed_commit) } };
  }
  const { helm_repository: source } = spec.source;
  const repository = chart?.repository ?? null;
  if (source === null || repository === null) throw new Error(`the Helm chart ${id} has no source`);
  return { repository: { chart_name: source.chart_name, chart_version: source.chart_version, repository } };
}

function toValuesRecord({ file, ...values }: HelmValuesSpec, tokenName: string | null): HelmRecord['values_override'] {
  const copy = (pairs: HelmValuesSpec['set']): string[][] => pairs.map((pair) => [...pair]);
  const git = file?.git ?? null;
  return {
    set: copy(values.set),
    set_string: copy(values.set_string),
    set_json: copy(values.set_json),
    file: file && {
      raw: file.raw && { values: [...file.raw.values] },
      git: git && { git_repository: toGitRecord(git.git_repository, tokenName, null), paths: [...git.paths] },
    },
  };
}
