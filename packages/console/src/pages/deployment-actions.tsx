import { useMutation, useQuery } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { actOnEnvironment, deployAgain } from '../data/actions.ts';
import { refusalIn } from '../data/rights.ts';
import { Button } from '../parts/button.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { ErrorNote } from '../parts/face.tsx';
import { shapeOf, type Deployment } from '../words.ts';

interface DeploymentActionsProps {
  readonly deployment: Deployment;
  readonly isRunning: boolean;
}

/** The buttons of a deployment: cancel it while it runs, try again after it failed. */
export function DeploymentActions({ deployment, isRunning }: DeploymentActionsProps): ReactNode {
  const { environment_id: environmentId } = deployment.identifier;
  const [isAsked, ask] = useState(false);
  const refusal = useQuery(refusalIn(environmentId)).data ?? null;
  const services = deployment.stages.flatMap((stage) => stage.services.map(({ identifier }) => identifier));
  const parts = services.map(({ service_id: id, service_type: type }) => ({ id, type }));
  const action = useMutation({
    mutationFn: (wanted: 'cancel' | 'again') =>
      wanted === 'again' ? deployAgain(environmentId, parts) : actOnEnvironment('cancel', environmentId),
  });
  return (
    <>
      {isRunning && (
        <Button refusal={refusal} onClick={() => ask(true)}>
          Cancel the deployment
        </Button>
      )}
      {shapeOf(deployment.status) === 'bad' && (
        <Button look="main" refusal={refusal} onClick={() => action.mutate('again')}>
          Try again
        </Button>
      )}
      {action.error !== null && <ErrorNote error={action.error} />}
      {isAsked && (
        <Confirm
          title="Cancel this deployment?"
          verb="Cancel the deployment"
          isDangerous
          onConfirm={() => action.mutate('cancel')}
          onClose={() => ask(false)}
        >
          <p>Services whose turn has not come are left as they are. Those that are done stay at their new version.</p>
        </Confirm>
      )}
    </>
  );
}
