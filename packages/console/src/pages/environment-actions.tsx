import { useMutation, useQuery } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { actOnEnvironment, type EnvironmentAction } from '../data/actions.ts';
import { refusalIn } from '../data/rights.ts';
import { emptyReason } from '../data/service-rows.ts';
import { Button } from '../parts/button.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { ErrorNote } from '../parts/face.tsx';
import { isUnderWay, plural, servicesOf, shapeOf, type EnvironmentDetails } from '../words.ts';
import { NewService } from './new-service-button.tsx';

interface EnvironmentActionsProps {
  readonly environmentId: string;
  readonly name: string;
  readonly details: EnvironmentDetails | undefined;
}

/** The buttons of an environment. */
export function EnvironmentActions({ environmentId, name, details }: EnvironmentActionsProps): ReactNode {
  const [asked, ask] = useState<EnvironmentAction | null>(null);
  const mayNot = useQuery(refusalIn(environmentId));
  const action = useMutation({ mutationFn: (wanted: EnvironmentAction) => actOnEnvironment(wanted, environmentId) });
  const services = details === undefined ? [] : servicesOf(details);
  const changed = services.filter((one) => one.service_deployment_status !== 'UP_TO_DATE').length;
  const isRunning = details !== undefined && isUnderWay(details.environment.state);
  const isStopped = services.every(({ state }) => ['STOPPED', 'READY', 'DELETED'].includes(state));
  const refusal = mayNot.data ?? emptyReason(details);
  const deployWord = changed > 0 && changed < services.length ? `Deploy ${plural(changed, 'change')}` : 'Deploy';
  return (
    <>
      <NewService environmentId={environmentId} />
      {isRunning ? (
        <Button refusal={refusal} onClick={() => ask('cancel')}>
          Cancel the deployment
        </Button>
      ) : (
        <Button refusal={refusal ?? (isStopped ? 'Nothing runs in this environment.' : null)} onClick={() => ask('stop')}>
          Stop
        </Button>
      )}
      <Button look="main" refusal={refusal} onClick={() => action.mutate('deploy')}>
        {deployWord}
      </Button>
      {action.error !== null && <ErrorNote error={action.error} />}
      {asked === 'stop' && (
        <Confirm
          title={`Stop ${name}?`}
          verb={`Stop ${plural(services.filter(({ state }) => shapeOf(state) !== 'off').length, 'service')}`}
          isDangerous
          onConfirm={() => action.mutate('stop')}
          onClose={() => ask(null)}
        >
          <p>Its services no longer answer until they are deployed again. Data, configuration and history stay.</p>
        </Confirm>
      )}
      {asked === 'cancel' && (
        <Confirm
          title={`Cancel the deployment of ${name}?`}
          verb="Cancel the deployment"
          isDangerous
          onConfirm={() => action.mutate('cancel')}
          onClose={() => ask(null)}
        >
          <p>Services whose turn has not come are left as they are. Those that are done stay at their new version.</p>
        </Confirm>
      )}
    </>
  );
}
