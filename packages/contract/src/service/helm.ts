import Type from 'typebox';
import { about, DateTime, enumeration, Name, Named, Nullable, Reference, Text, Uuid, Words } from '../shape.ts';
import { Commit } from '../shared/commit.ts';
import { DryRun } from '../shared/deployment-plan.ts';
import { customDomainOperations, customDomainReadOperations } from './custom-domain.ts';
import { advancedSettingsOperations, helmSettings } from './advanced-settings.ts';
import { kinds } from './kinds.ts';
import { GitRepository, GitRepositoryRequest } from './parts.ts';
import { deployOperations, stopOperations } from './deploy-operations.ts';
import {
  statusOperations,
  historyOperations,
  logOperations,
  oldHistoryOperations,
  linkOperations,
} from './reading-operations.ts';
import { recordOperations, cloneOperations } from './record-operations.ts';

const Selector = Named(
  'HelmPortSelector',
  Type.Object({
    key: about(`The key of a label of the Service's selector.`, Type.String({ minLength: 1, maxLength: 317 })),
    value: about('The value of that label.', Type.String({ maxLength: 63 })),
  }),
  `A label that the Service's selector has.`,
);
const protocols = enumeration(
  'HelmPortProtocol',
  { HTTP: 'HTTP, with or without WebSocket.', GRPC: 'gRPC over HTTP/2.' },
  'The protocol of a port of a chart.',
);

/** A port of one of the chart's Kubernetes services. The service is found by its name or by its selectors. */
export const HelmPort = Named(
  'HelmPort',
  Type.Object({
    id: about('Identifies it; it never changes.', Uuid),
    port_type: about(
      'How the Service is found.',
      Words({ SERVICE_NAME: 'By its name.', SERVICE_SELECTORS: 'By labels of its selector.' }),
    ),
    name: Type.Optional(about('The name of the port, part of its host name.', Type.String())),
    internal_port: about('The port of the Service.', Type.Integer()),
    external_port: Type.Optional(about('The public port of the address.', Type.Integer())),
    namespace: Type.Optional(about(`Not supported yet: always the environment's.`, Type.String())),
    protocol: Words(protocols, { default: 'HTTP' }),
    is_default: Type.Optional(about('Whether the host name without a port name leads to it.', Type.Boolean())),
    service_name: Type.Optional(about('The name of the Service, with SERVICE_NAME.', Type.String())),
    service_selectors: Type.Optional(about('The labels, with SERVICE_SELECTORS.', Type.Array(Selector))),
  }),
  'A public port of a Kubernetes Service of the chart.',
);

const Port = Type.Integer({ minimum: 1, maximum: 65_535 });
const label = '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$';

const HelmPortRequest = Named(
  'HelmPortRequest',
  Type.Object({
    name: Type.Optional(
      about('Part of the host name; by default `p` and the port.', Nullable(Type.String({ pattern: '^[a-z][-a-z0-9]{1,37}$' }))),
    ),
    internal_port: about('The port of the Service.', Port),
    external_port: Type.Optional(about('The public port of the address; by default 443.', Nullable(Port))),
    namespace: Type.Optional(about('Not supported yet; leave it out.', Nullable(Type.String({ pattern: label, maxLength: 63 })))),
    protocol: Type.Optional(about('The protocol of the port.', Nullable(Words(protocols, { default: 'HTTP' })))),
    is_default: Type.Optional(about('Whether the host name without a port name leads to it.', Nullable(Type.Boolean()))),
    service_name: Type.Optional(
      about('The name of the Kubernetes Service.', Nullable(Type.String({ pattern: label, maxLength: 63 }))),
    ),
    service_selectors: Type.Optional(
      about(
        `Labels that must be part of the Service's selector.`,
        Nullable(Type.Array(Selector, { minItems: 1, maxItems: 100 })),
      ),
    ),
  }),
  'A public port of the chart. Name the Service by `service_name` or `service_selectors`.',
);

const RawValues = Named(
  'HelmRawValues',
  Type.Object({
    values: about(
      'The files, in their order; later ones win.',
      Type.Array(
        Named(
          'HelmRawValuesFile',
          Type.Object({
            name: about('The name of the file.', Type.String()),
            content: about('The values, as YAML.', Type.String()),
          }),
          'A file of values, as text.',
        ),
      ),
    ),
  }),
  'Files of values, as text.',
);

export const Helm = Named(
  'Helm',
  Type.Object({
    id: about('Identifies it; it never changes.', Uuid),
    created_at: about('When it was created.', DateTime),
    updated_at: Type.Optional(about('When it was last changed.', DateTime)),
    environment: about('The environment it belongs to.', Reference),
    name: about('Its name, unique in the environment without regard to case.', Type.String()),
    description: Type.Optional(about('What it is for; may be empty.', Type.String())),
    timeout_sec: Type.Optional(about('Seconds to wait until it is ready; 0: a day.', Type.Integer())),
    auto_preview: about('Whether pull requests get a preview with it.', Type.Boolean()),
    auto_deploy: about('Whether a push deploys it.', Type.Boolean()),
    ports: Type.Optional(about('Its public ports.', Type.Array(HelmPort))),
    // Exactly one of the two members is set.
    source: Named(
      'HelmSource',
      Type.Object({
        git: Type.Optional(about('A folder of a git repository.', Type.Object({ git_repository: GitRepository }))),
        repository: Type.Optional(
          Named(
            'HelmSourceRepository',
            Type.Object({
              chart_name: about('The name of the chart.', Type.String()),
              chart_version: about('The version of the chart.', Type.String()),
              repository: Named(
                'HelmSourceRepositoryDetails',
                Type.Object({
                  id: about('Identifies it; it never changes.', Uuid),
                  name: about('The name of the repository.', Type.String()),
                  url: about('The address of the repository.', Type.String()),
                }),
                'The Helm repository of a chart.',
              ),
            }),
            'A chart of a Helm repository.',
          ),
        ),
      }),
      'Where a chart comes from. Exactly one member is set.',
    ),
    arguments: about('Further arguments of Helm.', Type.Array(Type.String())),
    allow_cluster_wide_resources: about('Whether it may create objects outside of its namespace.', Type.Boolean()),
    values_override: Named(
      'HelmValuesOverride',
      Type.Object({
        set: about('Pairs of name and value, as for `helm --set`.', Type.Array(Type.Array(Type.String()))),
        set_string: about('Pairs whose values are text.', Type.Array(Type.Array(Type.String()))),
        set_json: about('Pairs whose values are JSON.', Type.Array(Type.Array(Type.String()))),
        file: about(
          'Files of values; null: none.',
          Nullable(
            Named(
              'HelmValuesOverrideFile',
              Type.Object({
                raw: about('Files as text; they win over those of git. null: none.', Nullable(RawValues)),
                git: about(
                  'Files of a repository; null: none.',
                  Nullable(
                    Named(
                      'HelmValuesOverrideFileGit',
                      Type.Object({
                        git_repository: GitRepository,
                        paths: about('The files, in their order; later ones win.', Type.Array(Type.String())),
                      }),
                      'Files of values in a git repository.',
                    ),
                  ),
                ),
              }),
              'Files of values for a chart.',
            ),
          ),
        ),
      }),
      'Values that override those of the chart: the file, then `set_json`, `set` and `set_string`.',
    ),
    icon_uri: about('The icon of the service.', Type.String()),
    service_type: about('The type, which tells records apart.', Words(['HELM'] as const)),
  }),
  'A service that is a Helm chart, on a Kubernetes cluster.',
);

/** A pair `[name, value]`, as in `--set name=value`. */
const Pair = Type.Array(Type.String({ maxLength: 65_536 }), { minItems: 2, maxItems: 2 });
const pairs = Type.Optional(
  about('Pairs of name and value; they replace the former ones.', Nullable(Type.Array(Pair, { maxItems: 1000 }))),
);
const path = Type.String({ minLength: 1, maxLength: 1000 });

const ValuesOverrideRequest = Named(
  'HelmValuesOverrideRequest',
  Type.Object({
    set: about('Pairs of name and value, with the types of `helm --set`.', pairs),
    set_string: about('Pairs whose values stay text.', pairs),
    set_json: about('Pairs whose values are JSON.', pairs),
    file: Type.Optional(
      about(
        'Files of values; null: none.',
        Nullable(
          Named(
            'HelmValuesOverrideRequestFile',
            Type.Object({
              raw: Type.Optional(
                about(
                  'Files as text; they win over those of git.',
                  Nullable(
                    Type.Object({
                      values: about(
                        'The files, in their order; later ones win.',
                        Type.Array(
                          Named(
                            'HelmValuesOverrideRequestFileRawValues',
                            Type.Object({
                              name: about(
                                'The name of the file; unique in the list.',
                                Type.String({ minLength: 1, maxLength: 255 }),
                              ),
                              content: about('The values, as YAML.', Type.String({ maxLength: 500_000 })),
                            }),
                            'A file of values, as text.',
                          ),
                          { maxItems: 100 },
                        ),
                      ),
                    }),
                  ),
                ),
              ),
              git: Type.Optional(
                about(
                  'Files of a git repository.',
                  Nullable(
                    Named(
                      'HelmValuesOverrideRequestFileGit',
                      Type.Object({
                        git_repository: GitRepositoryRequest,
                        paths: about(
                          'The files, in their order; later ones win.',
                          Type.Array(path, { minItems: 1, maxItems: 100 }),
                        ),
                      }),
                      'Files of values in a git repository.',
                    ),
                  ),
                ),
              ),
            }),
            'Files of values for a chart.',
          ),
        ),
      ),
    ),
  }),
  'Values that override those of the chart. `davit.env.KEY` stands for a variable.',
);

/** The source of a chart. Exactly one of the two members is set. */
export const HelmSourceRequest = Named(
  'HelmSourceRequest',
  Type.Object({
    git_repository: Type.Optional(
      about('A folder with a `Chart.yaml`, as `root_path` of a repository.', Nullable(GitRepositoryRequest)),
    ),
    helm_repository: Type.Optional(
      about(
        'A chart of a Helm repository.',
        Nullable(
          Named(
            'HelmSourceRepositoryRequest',
            Type.Object({
              repository: Type.Optional(about('The `id` of a Helm repository of the organization.', Nullable(Uuid))),
              chart_name: Type.Optional(about('The name of the chart.', Nullable(Type.String({ minLength: 1, maxLength: 255 })))),
              chart_version: Type.Optional(
                about('The version of the chart.', Nullable(Type.String({ minLength: 1, maxLength: 255 }))),
              ),
            }),
            'A chart of a Helm repository.',
          ),
        ),
      ),
    ),
  }),
  'Where the chart comes from; set exactly one member.',
);

const fields = {
  description: Type.Optional(about('What it is for; null: empty.', Nullable(Text))),
  timeout_sec: Type.Optional(
    about('Seconds to wait until it is ready; 0: a day.', Nullable(Type.Integer({ default: 600, minimum: 0, maximum: 86_400 }))),
  ),
  auto_preview: Type.Optional(about('Whether pull requests get a preview with it.', Nullable(Type.Boolean()))),
  auto_deploy: Type.Optional(about('Whether a push deploys it. Default: false.', Nullable(Type.Boolean()))),
  ports: Type.Optional(
    about('Its public ports; the list replaces the former one.', Nullable(Type.Array(HelmPortRequest, { maxItems: 100 }))),
  ),
  arguments: Type.Optional(
    about(
      'Further arguments of Helm, such as `--no-hooks`; others than the known ones are refused.',
      Nullable(Type.Array(Type.String({ maxLength: 10_000 }), { maxItems: 1000 })),
    ),
  ),
  allow_cluster_wide_resources: Type.Optional(
    about(
      `Lets it use Davit's own account on the cluster; the operator can forbid it.`,
      Nullable(Type.Boolean({ default: false })),
    ),
  ),
  values_override: Type.Optional(about('Values that override those of the chart.', Nullable(ValuesOverrideRequest))),
  icon_uri: Type.Optional(
    about('The icon of the service; by default that of its type.', Nullable(Type.String({ minLength: 1, maxLength: 2000 }))),
  ),
};

const HelmRequest = Named(
  'HelmRequest',
  Type.Object({
    name: about('Its name, unique in the environment without regard to case.', Name),
    source: HelmSourceRequest,
    ...fields,
  }),
  'A Helm chart to create.',
);
const HelmEditRequest = Named(
  'HelmEditRequest',
  Type.Object({
    name: Type.Optional(about('Its new name, unique in the environment without regard to case.', Name)),
    source: Type.Optional(about('Where the chart comes from; null has no effect.', Nullable(HelmSourceRequest))),
    ...fields,
  }),
  'The fields of a Helm chart to change; the others stay.',
);

const commit = Type.Optional(Nullable(Type.String({ pattern: '^[0-9a-fA-F]{7,64}$' })));
const DeployRequest = Named(
  'HelmDeployRequest',
  Type.Object({
    chart_version: Type.Optional(
      about(
        'Another version of the chart; it becomes the configured one.',
        Nullable(Type.String({ minLength: 1, maxLength: 255 })),
      ),
    ),
    git_commit_id: about('A commit of the chart, as 7 to 64 hex digits.', commit),
    values_override_git_commit_id: about('A commit of the files of values.', commit),
    release_id: Type.Optional(about('An earlier release from the history, to roll back; alone.', Nullable(Uuid))),
  }),
  'What to deploy. Without a body: the configured version, or the newest commit.',
);

export const helmOperations = {
  ...recordOperations(kinds.HELM, { record: Helm, create: HelmRequest, edit: HelmEditRequest }),
  ...deployOperations(kinds.HELM, {
    body: DeployRequest,
    answer: Type.Object({}),
    query: Type.Object({
      ...DryRun.properties,
      forceEvent: Type.Optional(about('DIFF: only log what would change.', Words(['DIFF'] as const))),
    }),
    description: `
      Installs or upgrades the chart at its version, at \`chart_version\`, which then becomes its version, at a commit, or
      as an earlier release by \`release_id\`. A failed deployment is reverted. \`forceEvent=DIFF\` only logs what would
      change. On the cluster \`Local\` it is refused.
    `,
  }),
  ...stopOperations(kinds.HELM),
  ...statusOperations(kinds.HELM),
  ...historyOperations(kinds.HELM),
  ...advancedSettingsOperations(kinds.HELM, { Word: 'Helm', ...helmSettings }),
  ...logOperations(kinds.HELM),
  ...oldHistoryOperations(kinds.HELM, { commit: Type.Optional(about('The commit that was deployed.', Nullable(Commit))) }),
  ...linkOperations(kinds.HELM),
  ...cloneOperations(kinds.HELM, Helm),
  ...customDomainOperations(kinds.HELM, { Word: 'Helm' }),
  ...customDomainReadOperations(kinds.HELM),
};
