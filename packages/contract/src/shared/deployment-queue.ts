import Type from 'typebox';
import { about, Named, Uuid, Words } from '../shape.ts';
import { origins, stageStatuses, triggerActions } from './deployment-words.ts';
import { StatusDetails } from './status.ts';
import { jobTypes, serviceTypes } from './words.ts';

/* Shapes of the requests that wait in the queue of an environment. */

const QueueAuditing = Named(
  'QueueAuditingData',
  Type.Object({
    triggered_by: about('The name of the person or API token.', Type.String()),
    origin: Words(origins),
  }),
  'Who requested it, and from where.',
);

export const ServiceQueueEntry = Named(
  'ServiceQueueEntry',
  Type.Object({
    identifier: Named(
      'ServiceQueueEntryIdentifier',
      Type.Object({
        deployment_request_id: about('The `id` of the request, to withdraw it.', Uuid),
        service_id: about('The `id` of the service.', Uuid),
        service_type: Words(serviceTypes),
        name: about('The name of the service.', Type.String()),
      }),
      'Names a request and a service.',
    ),
    auditing_data: QueueAuditing,
    status_details: about('The requested action.', StatusDetails),
    icon_uri: about('The icon of the service.', Type.String()),
  }),
  'A waiting request, for one of its services.',
);

export const EnvironmentQueueEntry = Named(
  'EnvironmentQueueEntry',
  Type.Object({
    identifier: Named(
      'EnvironmentQueueEntryIdentifier',
      Type.Object({
        deployment_request_id: about('The `id` of the request, to withdraw it.', Uuid),
        environment_id: about('The environment of the request.', Uuid),
      }),
      'Identifies a request.',
    ),
    auditing_data: QueueAuditing,
    trigger_action: about('The requested action.', Words(triggerActions)),
    stages: about(
      'Its services by stage, in their order.',
      Type.Array(
        Named(
          'QueuedStage',
          Type.Object({
            name: about('The name of the stage.', Type.String()),
            status: Words(stageStatuses),
            services: about(
              'The services of the stage.',
              Type.Array(
                Named(
                  'QueuedService',
                  Type.Object({
                    identifier: Named(
                      'QueuedServiceIdentifier',
                      Type.Object({
                        service_id: about('The `id` of the service.', Uuid),
                        service_type: Words(serviceTypes),
                        name: about('The name of the service.', Type.String()),
                      }),
                      'Identifies a service.',
                    ),
                    status: Words(stageStatuses),
                    icon_uri: Type.Optional(about('The icon of the service.', Type.String())),
                    // Present for jobs only.
                    details: Type.Optional(
                      about(
                        'Present for jobs only.',
                        Type.Object({
                          job_type: Words(jobTypes),
                        }),
                      ),
                    ),
                  }),
                  'A service of a waiting request.',
                ),
              ),
            ),
          }),
          'A stage of a waiting request.',
        ),
      ),
    ),
  }),
  'A request that waits for its turn in an environment.',
);
