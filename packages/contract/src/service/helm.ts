import Type from 'typebox';
import { DateTime, Name, Nullable, Reference, Text, Uuid, Words, Named } from '../shape.ts';
import { Commit, DryRun } from '../shared/deployment.ts';
import { customDomainOperations, customDomainReadOperations } from './custom-domain.ts';
import { advancedSettingsOperations, helmSettings } from './advanced-settings.ts';
import { kinds } from './kinds.ts';
import { GitRepository, GitRepositoryRequest } from './parts.ts';
import * as shared from './shared-operations.ts';

const Selector = Named(
  'HelmPortSelector',
  Type.Object({ key: Type.String({ minLength: 1, maxLength: 317 }), value: Type.String({ maxLength: 63 }) }),
);
const protocols = ['HTTP', 'GRPC'] as const;

/** A port of one of the chart's Kubernetes services. The service is found by its name or by its selectors. */
export const HelmPort = Named(
  'HelmPort',
  Type.Object({
    id: Uuid,
    port_type: Words(['SERVICE_NAME', 'SERVICE_SELECTORS'] as const),
    name: Type.Optional(Type.String()),
    internal_port: Type.Integer(),
    external_port: Type.Optional(Type.Integer()),
    namespace: Type.Optional(Type.String()),
    protocol: Words(protocols, { default: 'HTTP' }),
    is_default: Type.Optional(Type.Boolean()),
    service_name: Type.Optional(Type.String()),
    service_selectors: Type.Optional(Type.Array(Selector)),
  }),
);

const Port = Type.Integer({ minimum: 1, maximum: 65_535 });
const label = '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$';

const HelmPortRequest = Named(
  'HelmPortRequest',
  Type.Object({
    name: Type.Optional(Nullable(Type.String({ pattern: '^[a-z][-a-z0-9]{1,37}$' }))),
    internal_port: Port,
    external_port: Type.Optional(Nullable(Port)),
    namespace: Type.Optional(Nullable(Type.String({ pattern: label, maxLength: 63 }))),
    protocol: Type.Optional(Nullable(Words(protocols, { default: 'HTTP' }))),
    is_default: Type.Optional(Nullable(Type.Boolean())),
    service_name: Type.Optional(Nullable(Type.String({ pattern: label, maxLength: 63 }))),
    service_selectors: Type.Optional(Nullable(Type.Array(Selector, { minItems: 1, maxItems: 100 }))),
  }),
);

const RawValues = Named(
  'HelmRawValues',
  Type.Object({ values: Type.Array(Named('HelmRawValuesFile', Type.Object({ name: Type.String(), content: Type.String() }))) }),
);

export const Helm = Named(
  'Helm',
  Type.Object({
    id: Uuid,
    created_at: DateTime,
    updated_at: Type.Optional(DateTime),
    environment: Reference,
    name: Type.String(),
    description: Type.Optional(Type.String()),
    timeout_sec: Type.Optional(Type.Integer()),
    auto_preview: Type.Boolean(),
    auto_deploy: Type.Boolean(),
    ports: Type.Optional(Type.Array(HelmPort)),
    // Exactly one of the two members is set.
    source: Named(
      'HelmSource',
      Type.Object({
        git: Type.Optional(Type.Object({ git_repository: GitRepository })),
        repository: Type.Optional(
          Named(
            'HelmSourceRepository',
            Type.Object({
              chart_name: Type.String(),
              chart_version: Type.String(),
              repository: Named(
                'HelmSourceRepositoryDetails',
                Type.Object({ id: Uuid, name: Type.String(), url: Type.String() }),
              ),
            }),
          ),
        ),
      }),
    ),
    arguments: Type.Array(Type.String()),
    allow_cluster_wide_resources: Type.Boolean(),
    values_override: Named(
      'HelmValuesOverride',
      Type.Object({
        set: Type.Array(Type.Array(Type.String())),
        set_string: Type.Array(Type.Array(Type.String())),
        set_json: Type.Array(Type.Array(Type.String())),
        file: Nullable(
          Named(
            'HelmValuesOverrideFile',
            Type.Object({
              raw: Nullable(RawValues),
              git: Nullable(
                Named(
                  'HelmValuesOverrideFileGit',
                  Type.Object({ git_repository: GitRepository, paths: Type.Array(Type.String()) }),
                ),
              ),
            }),
          ),
        ),
      }),
    ),
    icon_uri: Type.String(),
    service_type: Words(['HELM'] as const),
  }),
);

/** A pair `[name, value]`, as in `--set name=value`. */
const Pair = Type.Array(Type.String({ maxLength: 65_536 }), { minItems: 2, maxItems: 2 });
const pairs = Type.Optional(Nullable(Type.Array(Pair, { maxItems: 1000 })));
const path = Type.String({ minLength: 1, maxLength: 1000 });

const ValuesOverrideRequest = Named(
  'HelmValuesOverrideRequest',
  Type.Object({
    set: pairs,
    set_string: pairs,
    set_json: pairs,
    file: Type.Optional(
      Nullable(
        Named(
          'HelmValuesOverrideRequestFile',
          Type.Object({
            raw: Type.Optional(
              Nullable(
                Type.Object({
                  values: Type.Array(
                    Named(
                      'HelmValuesOverrideRequestFileRawValues',
                      Type.Object({
                        name: Type.String({ minLength: 1, maxLength: 255 }),
                        content: Type.String({ maxLength: 500_000 }),
                      }),
                    ),
                    { maxItems: 100 },
                  ),
                }),
              ),
            ),
            git: Type.Optional(
              Nullable(
                Named(
                  'HelmValuesOverrideRequestFileGit',
                  Type.Object({ git_repository: GitRepositoryRequest, paths: Type.Array(path, { minItems: 1, maxItems: 100 }) }),
                ),
              ),
            ),
          }),
        ),
      ),
    ),
  }),
);

/** The source of a chart. Exactly one of the two members is set. */
export const HelmSourceRequest = Named(
  'HelmSourceRequest',
  Type.Object({
    git_repository: Type.Optional(Nullable(GitRepositoryRequest)),
    helm_repository: Type.Optional(
      Nullable(
        Named(
          'HelmSourceRepositoryRequest',
          Type.Object({
            repository: Type.Optional(Nullable(Uuid)),
            chart_name: Type.Optional(Nullable(Type.String({ minLength: 1, maxLength: 255 }))),
            chart_version: Type.Optional(Nullable(Type.String({ minLength: 1, maxLength: 255 }))),
          }),
        ),
      ),
    ),
  }),
);

const fields = {
  description: Type.Optional(Nullable(Text)),
  timeout_sec: Type.Optional(Nullable(Type.Integer({ default: 600, minimum: 0, maximum: 86_400 }))),
  auto_preview: Type.Optional(Nullable(Type.Boolean())),
  auto_deploy: Type.Optional(Nullable(Type.Boolean())),
  ports: Type.Optional(Nullable(Type.Array(HelmPortRequest, { maxItems: 100 }))),
  arguments: Type.Optional(Nullable(Type.Array(Type.String({ maxLength: 10_000 }), { maxItems: 1000 }))),
  allow_cluster_wide_resources: Type.Optional(Nullable(Type.Boolean({ default: false }))),
  values_override: Type.Optional(Nullable(ValuesOverrideRequest)),
  icon_uri: Type.Optional(Nullable(Type.String({ minLength: 1, maxLength: 2000 }))),
};

const HelmRequest = Named('HelmRequest', Type.Object({ name: Name, source: HelmSourceRequest, ...fields }));
const HelmEditRequest = Named(
  'HelmEditRequest',
  Type.Object({
    name: Type.Optional(Name),
    source: Type.Optional(Nullable(HelmSourceRequest)),
    ...fields,
  }),
);

const commit = Type.Optional(Nullable(Type.String({ pattern: '^[0-9a-fA-F]{7,64}$' })));
const DeployRequest = Named(
  'HelmDeployRequest',
  Type.Object({
    chart_version: Type.Optional(Nullable(Type.String({ minLength: 1, maxLength: 255 }))),
    git_commit_id: commit,
    values_override_git_commit_id: commit,
    release_id: Type.Optional(Nullable(Uuid)),
  }),
);

export const helmOperations = {
  ...shared.recordOperations(kinds.HELM, { record: Helm, create: HelmRequest, edit: HelmEditRequest }),
  ...shared.deployOperations(kinds.HELM, {
    body: DeployRequest,
    answer: Type.Object({}),
    query: Type.Object({ ...DryRun.properties, forceEvent: Type.Optional(Words(['DIFF'] as const)) }),
    summary:
      'Deploy a Helm chart: at its version, at `chart_version`, which then becomes its version, at a commit of its repository, or an earlier release by `release_id`; `forceEvent=DIFF` only reports what would change. Refused on the local engine, which is not Kubernetes',
  }),
  ...shared.stopOperations(kinds.HELM),
  ...shared.statusOperations(kinds.HELM),
  ...shared.historyOperations(kinds.HELM),
  ...advancedSettingsOperations(kinds.HELM, { Word: 'Helm', ...helmSettings }),
  ...shared.logOperations(kinds.HELM),
  ...shared.oldHistoryOperations(kinds.HELM, { commit: Type.Optional(Nullable(Commit)) }),
  ...shared.linkOperations(kinds.HELM),
  ...shared.cloneOperations(kinds.HELM, Helm),
  ...customDomainOperations(kinds.HELM, { Word: 'Helm' }),
  ...customDomainReadOperations(kinds.HELM),
};
