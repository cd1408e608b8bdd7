import Type from 'typebox';
import { credentialProviders } from '../cluster/shapes.ts';
import { operation } from '../operation.ts';
import { about, List, Named, Uuid, Words } from '../shape.ts';

const tag = 'Job';
const brief = {
  id: about('Names the template in paths.', Uuid),
  name: about('The name of the template.', Type.String()),
  description: about('What a job made of it does.', Type.String()),
};

/** A template of a lifecycle job: its Dockerfile, its commands by event, its size, and the variables that it needs. */
const LifecycleTemplate = Named(
  'LifecycleTemplate',
  Type.Object({
    ...brief,
    sourceUrl: about('Where the template comes from; may be empty.', Type.String()),
    cloud_provider: Words(credentialProviders),
    events: about(
      'The commands, by event.',
      Type.Array(
        Named(
          'LifecycleTemplateEvent',
          Type.Object({
            name: about(
              'The event, as in `on_start`.',
              Words({ start: 'For `on_start`.', stop: 'For `on_stop`.', delete: 'For `on_delete`.' }),
            ),
            entrypoint: Type.Optional(about('The program. Absent: that of the image.', Type.String())),
            command: about('For `arguments` of the event.', Type.Array(Type.String())),
          }),
          'The command of an event.',
        ),
      ),
    ),
    max_duration_in_sec: about('For `max_duration_seconds` of the job.', Type.Integer()),
    resources: Named(
      'LifecycleTemplateResources',
      Type.Object({
        cpu_milli: about('Millicores, for `cpu` of the job.', Type.Integer()),
        ram_mib: about('For `memory` of the job.', Type.Integer()),
      }),
      'The size of a run of the job.',
    ),
    variables: about(
      'The variables and secrets that the job needs.',
      Type.Array(
        Named(
          'LifecycleTemplateVariable',
          Type.Object({
            name: about('The key of the variable.', Type.String()),
            description: about('What its value is for.', Type.String()),
            default: about('The proposed value; may be empty.', Type.String()),
            is_secret: about('Whether to create a secret.', Type.Boolean()),
            file: Type.Optional(
              about(
                'Present if it is a file.',
                Named(
                  'LifecycleTemplateFile',
                  Type.Object({
                    path: about('For `mount_path` of the variable.', Type.String()),
                    enable_interpolation: about('Whether references in the file are replaced.', Type.Boolean()),
                  }),
                  'The file of a variable.',
                ),
              ),
            ),
          }),
          'A variable that the job needs.',
        ),
      ),
    ),
    dockerfile: about('For `dockerfile_raw` of the job.', Type.String()),
  }),
  'A template for a lifecycle job. Copy its fields into the job; there is no link afterwards.',
);

export const listEnvironmentLifecycleTemplates = operation({
  id: 'listEnvironmentLifecycleTemplates',
  method: 'GET',
  path: '/environment/{environmentId}/lifecycleTemplate',
  tag,
  summary: 'List the templates for lifecycle jobs',
  description: `
    Returns the templates of the installation that fit the cluster of the environment, in the order of the
    catalogue. Read one for its content.
  `,
  scope: 'READ',
  target: 'environment',
  status: 200,
  response: List(Named('LifecycleTemplateSummary', Type.Object(brief), 'A template for lifecycle jobs, without its content.')),
  errors: [],
});

export const getEnvironmentLifecycleTemplate = operation({
  id: 'getEnvironmentLifecycleTemplate',
  method: 'GET',
  path: '/environment/{environmentId}/lifecycleTemplate/{lifecycleTemplateId}',
  tag,
  summary: 'Read a template for lifecycle jobs',
  description: `
    Returns Dockerfile, commands, size and variables of a template. Copy them into a job: changes of the template do
    not reach it later.
  `,
  scope: 'READ',
  target: 'environment',
  status: 200,
  response: LifecycleTemplate,
  errors: [],
});
