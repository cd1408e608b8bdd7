import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, DateTime, List, Name, Named, Nullable, Reference, Text, Uuid, Words } from '../shape.ts';
import { DryRun } from '../shared/deployment-plan.ts';
import { terraformActions, terraformEngines } from '../shared/words.ts';
import { advancedSettingsOperations, terraformSettings } from './advanced-settings.ts';
import { kinds } from './kinds.ts';
import { GitRepository, GitRepositoryRequest } from './parts.ts';
import { deployOperations } from './deploy-operations.ts';
import { historyOperations } from './reading-operations.ts';
import { recordOperations, cloneOperations } from './record-operations.ts';

const AutoDeploy = Named(
  'TerraformAutoDeploy',
  Type.Object({
    auto_deploy: about('Whether a push starts a deployment.', Type.Boolean()),
    terraform_action: about(
      'What a push does.',
      Words({ DEFAULT: 'Plan and apply.', PLAN: 'Only plan.', NOOP: 'Nothing at all.' }),
    ),
  }),
  'What a push to the branch does.',
);
const ProviderVersion = Named(
  'TerraformProviderVersion',
  Type.Object({
    read_from_terraform_block: Type.Optional(
      about('Whether the version of the installed program, checked by `required_version`, is used.', Type.Boolean()),
    ),
    explicit_version: about('A whole version, such as `1.11.4`; empty: none.', Type.String()),
  }),
  'The version of the program.',
);
const JobResources = Named(
  'TerraformJobResources',
  Type.Object({
    cpu_milli: about('The CPU limit, in millicores.', Type.Integer()),
    ram_mib: about('The memory limit, in MiB.', Type.Integer()),
    gpu: about('GPUs; always 0.', Type.Integer()),
    storage_gib: about('The space for all files of a run, in GiB.', Type.Integer()),
  }),
  'The limits of a run.',
);
const none = Type.Object({});
const ExtraArguments = about(
  'Options by command: `init`, `plan`, `apply`, `destroy`.',
  Type.Record(Type.String(), Type.Array(Type.String())),
);
const Fragment = Named(
  'TerraformDockerfileFragment',
  Type.Object({
    type: about('Where the fragment is.', Words({ file: 'In the repository, at `path`.', inline: 'Here, in `content`.' })),
    path: Type.Optional(about('The file in the repository, with `file`.', Type.String())),
    content: Type.Optional(about('The instructions, with `inline`.', Type.String())),
  }),
  'Stored only: a deployment with a fragment fails.',
);

export const Terraform = Named(
  'Terraform',
  Type.Object({
    id: about('Identifies it; it never changes.', Uuid),
    created_at: about('When it was created.', DateTime),
    updated_at: Type.Optional(about('When it was last changed.', DateTime)),
    environment: about('The environment it belongs to.', Reference),
    name: about('Its name, unique in the environment without regard to case.', Type.String()),
    description: Type.Optional(about('What it is for; may be empty.', Type.String())),
    timeout_sec: about('The longest time of one command, in seconds.', Type.Integer()),
    auto_deploy: about('Whether a push starts a deployment.', Type.Boolean()),
    auto_deploy_config: AutoDeploy,
    terraform_files_source: about(
      'Where the configuration is.',
      Type.Object({
        git: about('The configuration in git.', Type.Object({ git_repository: GitRepository })),
      }),
    ),
    terraform_variables_source: Named(
      'TerraformVariablesSource',
      Type.Object({
        tf_var_file_paths: about('Files of the repository with values; later ones win.', Type.Array(Type.String())),
        // The values of secrets are omitted.
        tf_vars: about(
          'Single values; they win over files.',
          Type.Array(
            Named(
              'TerraformVariable',
              Type.Object({
                key: about('The name of the variable.', Type.String()),
                value: Type.Optional(about('Its value; absent for a secret.', Type.String())),
                secret: about('Whether the value is never shown again.', Type.Boolean()),
              }),
              'The value of a variable.',
            ),
          ),
        ),
      }),
      'The values of the variables.',
    ),
    // Exactly one of the three members is set.
    backend: Named(
      'TerraformBackend',
      Type.Object({
        kubernetes: Type.Optional(about('Davit stores it, encrypted.', none)),
        user_provided: Type.Optional(about('The backend in the configuration itself.', none)),
        blueprint: Type.Optional(
          Named(
            'TerraformBackendBlueprint',
            Type.Object({
              type: about('The name of the backend, such as `s3`.', Type.String()),
              config: about('The arguments of the backend.', Type.Record(Type.String(), Type.String())),
            }),
            'A backend that Davit configures.',
          ),
        ),
      }),
      'Where the state is. Exactly one member is set.',
    ),
    engine: Words(terraformEngines),
    provider_version: ProviderVersion,
    job_resources: JobResources,
    use_cluster_credentials: about('Stored; runs get no credentials of the cluster yet.', Type.Boolean()),
    action_extra_arguments: about('Options by command: `init`, `plan`, `apply`, `destroy`.', ExtraArguments),
    dockerfile_fragment: Type.Optional(about('A deployment with a fragment fails; null: none.', Nullable(Fragment))),
    icon_uri: about('The icon of the service.', Type.String()),
    service_type: about('The type, which tells records apart.', Words(['TERRAFORM'] as const)),
  }),
  'A service that is a Terraform or OpenTofu configuration.',
);

const path = Type.String({ minLength: 1, maxLength: 1000 });
const most = 2_147_483_647;

const FilesRequest = Named(
  'TerraformFilesRequest',
  Type.Object({
    git_repository: Type.Optional(about('The repository and its folder; required.', Nullable(GitRepositoryRequest))),
  }),
  'Where the configuration is.',
);
const VariablesRequest = Named(
  'TerraformVariablesRequest',
  Type.Object({
    tf_var_file_paths: Type.Optional(
      about('Files of the repository with values; later ones win.', Nullable(Type.Array(path, { maxItems: 100 }))),
    ),
    tf_vars: Type.Optional(
      about(
        'Single values; they win over files.',
        Nullable(
          Type.Array(
            Named(
              'TerraformVariableRequest',
              Type.Object({
                key: Type.Optional(about('The name of the variable.', Nullable(Type.String({ maxLength: 255 })))),
                value: Type.Optional(
                  about('Its value. Without it, a secret keeps the former one.', Nullable(Type.String({ maxLength: 100_000 }))),
                ),
                secret: Type.Optional(
                  about('Whether the value is never shown again; by default false.', Nullable(Type.Boolean())),
                ),
              }),
              'The value of a variable.',
            ),
            { maxItems: 500 },
          ),
        ),
      ),
    ),
  }),
  'The values of the variables; they replace the former ones.',
);
const BackendRequest = Named(
  'TerraformBackendRequest',
  Type.Object({
    kubernetes: Type.Optional(about('Davit stores it, encrypted.', Nullable(none))),
    user_provided: Type.Optional(about('The backend in the configuration itself.', Nullable(none))),
    blueprint: Type.Optional(
      about(
        'A backend that Davit configures.',
        Nullable(
          Named(
            'TerraformBackendRequestBlueprint',
            Type.Object({
              type: about('The name of the backend, such as `s3`.', Type.String({ minLength: 1, maxLength: 63 })),
              config: Type.Optional(
                about(
                  'The arguments of the backend, as text.',
                  Nullable(Type.Record(Type.String(), Type.String({ maxLength: 10_000 }))),
                ),
              ),
            }),
            'A backend that Davit configures.',
          ),
        ),
      ),
    ),
  }),
  'Where the state is; set exactly one member. Default: `kubernetes`.',
);
const JobResourcesRequest = Named(
  'TerraformJobResourcesRequest',
  Type.Object({
    cpu_milli: about('The CPU limit, in millicores.', Type.Integer({ minimum: 10, maximum: most })),
    ram_mib: about('The memory limit, in MiB.', Type.Integer({ minimum: 64, maximum: most })),
    gpu: Type.Optional(about('GPUs; only 0 is possible.', Nullable(Type.Integer({ default: 0, minimum: 0, maximum: 1024 })))),
    storage_gib: about('The space for all files of a run, in GiB.', Type.Integer({ minimum: 1, maximum: 65_536 })),
  }),
  'The limits of a run.',
);

const fields = {
  description: Type.Optional(about('What it is for; null: empty.', Nullable(Text))),
  auto_deploy_config: Type.Optional(about('What a push does; by default nothing.', Nullable(AutoDeploy))),
  terraform_variables_source: Type.Optional(about('The values of its variables.', Nullable(VariablesRequest))),
  backend: Type.Optional(about('Where its state is. After a change, deploy with MIGRATE_STATE.', Nullable(BackendRequest))),
  engine: Type.Optional(about('The program that runs it; by default TERRAFORM.', Nullable(Words(terraformEngines)))),
  provider_version: Type.Optional(
    about(
      'The version of the program; by default read from the configuration.',
      Nullable(
        Type.Object({
          read_from_terraform_block: Type.Optional(about('Use the version that is installed.', Nullable(Type.Boolean()))),
          explicit_version: Type.Optional(
            about(
              'A whole version, such as `1.11.4`; required unless the other is true.',
              Nullable(Type.String({ maxLength: 63 })),
            ),
          ),
        }),
      ),
    ),
  ),
  timeout_sec: Type.Optional(
    about('The longest time of one command, in seconds.', Nullable(Type.Integer({ default: 600, minimum: 0, maximum: 86_400 }))),
  ),
  icon_uri: Type.Optional(
    about('The icon of the service; by default that of its type.', Nullable(Type.String({ minLength: 1, maxLength: 2000 }))),
  ),
  job_resources: Type.Optional(about('The limits of a run.', Nullable(JobResourcesRequest))),
  use_cluster_credentials: Type.Optional(about('Stored; runs get no credentials of the cluster yet.', Nullable(Type.Boolean()))),
  action_extra_arguments: Type.Optional(
    about(
      'Options by command: `init`, `plan`, `apply`, `destroy`. Those that Davit sets are refused.',
      Nullable(Type.Record(Type.String(), Type.Array(Type.String({ minLength: 1, maxLength: 10_000 }), { maxItems: 100 }))),
    ),
  ),
  dockerfile_fragment: Type.Optional(
    about(
      'A deployment with a fragment fails; null: none.',
      Nullable(
        Named(
          'TerraformDockerfileFragmentRequest',
          Type.Object({
            type: about(
              'Where the fragment is.',
              Words({ file: 'In the repository, at `path`.', inline: 'Here, in `content`.' }),
            ),
            path: Type.Optional(about('The file in the repository, with `file`.', Nullable(path))),
            content: Type.Optional(about('The instructions, with `inline`.', Nullable(Type.String({ maxLength: 100_000 })))),
          }),
          'Instructions for an image of the run; not supported yet.',
        ),
      ),
    ),
  ),
};

const TerraformRequest = Named(
  'TerraformRequest',
  Type.Object({
    name: about('Its name, unique in the environment without regard to case.', Name),
    terraform_files_source: FilesRequest,
    ...fields,
  }),
  'A Terraform configuration to create.',
);
const TerraformEditRequest = Named(
  'TerraformEditRequest',
  Type.Object({
    name: Type.Optional(about('Its new name, unique in the environment without regard to case.', Name)),
    terraform_files_source: Type.Optional(about('Where the configuration is; null has no effect.', Nullable(FilesRequest))),
    ...fields,
  }),
  'The fields of a Terraform configuration to change; the others stay.',
);

const DeployRequest = Named(
  'TerraformDeployRequest',
  Type.Object({
    id: Type.Optional(about('Ignored; clients send it.', Nullable(Uuid))),
    git_commit_id: Type.Optional(
      about('A commit, as 7 to 64 hex digits.', Nullable(Type.String({ pattern: '^[0-9a-fA-F]{7,64}$' }))),
    ),
    action: Type.Optional(about('What to do instead of an apply.', Nullable(Words(terraformActions)))),
  }),
  'What to deploy. Without a body: an apply of the newest commit.',
);

/** Whether the resources that Terraform created are destroyed as well. */
const Removal = Type.Partial(
  Type.Object({ force_terraform_action: about('SKIP_DESTROY: leave the resources in place.', Words(['SKIP_DESTROY'] as const)) }),
);

const actions = deployOperations(kinds.TERRAFORM, {
  query: DryRun,
  body: DeployRequest,
  answer: Type.Object({}),
  description: `
      Plans and applies the newest commit of the branch or \`git_commit_id\`. \`action\` only plans, unlocks the state, or
      moves the state to the current backend instead.
    `,
});
const records = recordOperations(kinds.TERRAFORM, {
  record: Terraform,
  create: TerraformRequest,
  edit: TerraformEditRequest,
});

export const terraformOperations = {
  ...records,
  delete: {
    ...records.delete,
    summary: 'Delete a Terraform configuration',
    description: `
      Destroys the resources of the configuration, then deletes its record, state and variables. It is DELETING
      until then. If the destroy fails, the record stays: correct the cause, and delete again.

      \`force_terraform_action=SKIP_DESTROY\` leaves the resources in place, \`resources_only\` keeps the record. A
      repetition changes nothing.
    `,
    query: Type.Object({
      ...Removal.properties,
      resources_only: Type.Optional(about('Destroy the resources, and keep the record.', Type.Boolean({ default: false }))),
    }),
  },
  ...actions,
  uninstall: {
    ...actions.uninstall,
    summary: 'Destroy the resources of a Terraform configuration',
    description: `
      Destroys the resources; the record stays and can be deployed again. \`force_terraform_action=SKIP_DESTROY\` only
      discards the state. 204: nothing was deployed.
    `,
    query: Removal,
  },
  ...historyOperations(kinds.TERRAFORM),
  ...advancedSettingsOperations(kinds.TERRAFORM, { Word: 'Terraform', ...terraformSettings }),
  ...cloneOperations(kinds.TERRAFORM, Terraform),
};

export const listTerraformVersions = operation({
  id: 'listTerraformVersions',
  method: 'GET',
  path: '/terraform/availableVersion',
  tag: kinds.TERRAFORM.Noun,
  summary: 'List the installed Terraform versions',
  description: `
    Returns the programs on the machine of Davit. Runs in pods use images that the operator configures, whose
    versions are not listed.
  `,
  scope: 'READ',
  target: 'instance',
  status: 200,
  response: List(
    Named(
      'TerraformVersion',
      Type.Object({
        engine: Words(terraformEngines),
        version: about('Its version, such as `1.11.4`.', Type.String()),
      }),
      'A program on the machine of Davit.',
    ),
  ),
  errors: [],
});
