import Type from 'typebox';
import { credentialProviders } from '../cluster/shapes.ts';
import { operation } from '../operation.ts';
import { List, Uuid, Words, Named } from '../shape.ts';

const tag = 'Job';
const brief = { id: Uuid, name: Type.String(), description: Type.String() };

/** A template of a lifecycle job: its Dockerfile, its commands by event, its size, and the variables that it needs. */
const LifecycleTemplate = Named(
  'LifecycleTemplate',
  Type.Object({
    ...brief,
    sourceUrl: Type.String(),
    cloud_provider: Words(credentialProviders),
    events: Type.Array(
      Named(
        'LifecycleTemplateEvent',
        Type.Object({
          name: Words(['start', 'stop', 'delete'] as const),
          entrypoint: Type.Optional(Type.String()),
          command: Type.Array(Type.String()),
        }),
      ),
    ),
    max_duration_in_sec: Type.Integer(),
    resources: Named('LifecycleTemplateResources', Type.Object({ cpu_milli: Type.Integer(), ram_mib: Type.Integer() })),
    variables: Type.Array(
      Named(
        'LifecycleTemplateVariable',
        Type.Object({
          name: Type.String(),
          description: Type.String(),
          default: Type.String(),
          is_secret: Type.Boolean(),
          file: Type.Optional(
            Named('LifecycleTemplateFile', Type.Object({ path: Type.String(), enable_interpolation: Type.Boolean() })),
          ),
        }),
      ),
    ),
    dockerfile: Type.String(),
  }),
);

export const listEnvironmentLifecycleTemplates = operation({
  id: 'listEnvironmentLifecycleTemplates',
  method: 'GET',
  path: '/environment/{environmentId}/lifecycleTemplate',
  tag,
  summary: 'List the templates for lifecycle jobs of an environment',
  scope: 'READ',
  target: 'environment',
  status: 200,
  response: List(Named('LifecycleTemplateSummary', Type.Object(brief))),
  errors: [],
});

export const getEnvironmentLifecycleTemplate = operation({
  id: 'getEnvironmentLifecycleTemplate',
  method: 'GET',
  path: '/environment/{environmentId}/lifecycleTemplate/{lifecycleTemplateId}',
  tag,
  summary: 'Read a template for lifecycle jobs',
  scope: 'READ',
  target: 'environment',
  status: 200,
  response: LifecycleTemplate,
  errors: [],
});
