import Type from 'typebox';
import { about, Named, Uuid, Words } from '../shape.ts';
import { actions } from './deployment-words.ts';

/** The plan of a `dry_run`: the steps of the deployment, in order. */
export const DeploymentPlan = Named(
  'DeploymentPlan',
  Type.Object({
    action: Words(actions),
    stages: about(
      'The stages, in their order.',
      Type.Array(
        Named(
          'DeploymentPlanStage',
          Type.Object({
            name: about('The name of the stage.', Type.String()),
            services: about(
              'The services of the stage.',
              Type.Array(
                Named(
                  'DeploymentPlanService',
                  Type.Object({
                    service_id: about('The `id` of the service.', Uuid),
                    name: about('The name of the service.', Type.String()),
                    steps: about('The steps, in their order.', Type.Array(Type.String())),
                    instances: Named(
                      'InstanceChange',
                      Type.Object({
                        from: about('How many instances run now.', Type.Integer()),
                        to: about('How many will run afterwards.', Type.Integer()),
                      }),
                      'A change of the number of instances.',
                    ),
                    expected_downtime: about('Whether the service is unavailable for a moment.', Type.Boolean()),
                    notes: about('Remarks, for example why it is not scaled.', Type.Array(Type.String())),
                    changes: about('The settings that differ from the deployed release, by path.', Type.Array(Type.String())),
                  }),
                  'What would be done with one service.',
                ),
              ),
            ),
          }),
          'One stage of a plan.',
        ),
      ),
    ),
  }),
  'What would be done; only with `dry_run`.',
);

export const DryRun = Type.Partial(
  Type.Object({ dry_run: about('Only return the plan; nothing is deployed.', Type.Boolean({ default: false })) }),
);
