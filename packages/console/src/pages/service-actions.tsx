import { useMutation, useQuery } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { actOnService, impossible, type ServiceAction } from '../data/actions.ts';
import { refusalIn } from '../data/rights.ts';
import { Button } from '../parts/button.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { ErrorNote } from '../parts/face.tsx';
import { isUnderWay, type Service, type ServiceStatus } from '../words.ts';

interface ServiceActionsProps {
  readonly service: Service;
  readonly status: ServiceStatus | undefined;
}

/** The buttons of a service. */
export function ServiceActions({ service, status }: ServiceActionsProps): ReactNode {
  const [asked, ask] = useState<ServiceAction | null>(null);
  const mayNot = useQuery(refusalIn(service.environment.id)).data ?? null;
  const action = useMutation({ mutationFn: (wanted: ServiceAction) => actOnService(wanted, service) });
  const type = service.service_type;
  const wasNeverDeployed = status?.state === 'READY' ? 'The service was never deployed.' : null;
  const isStopped = status?.state === 'STOPPED' ? 'The service is stopped.' : null;
  return (
    <>
      <Button refusal={mayNot ?? impossible('stop', type) ?? wasNeverDeployed ?? isStopped} onClick={() => ask('stop')}>
        Stop
      </Button>
      <Button refusal={mayNot ?? impossible('restart', type) ?? wasNeverDeployed ?? isStopped} onClick={() => ask('restart')}>
        Restart
      </Button>
      <Button refusal={mayNot ?? wasNeverDeployed} onClick={() => action.mutate('redeploy')}>
        Redeploy
      </Button>
      <Button look="main" refusal={mayNot} onClick={() => action.mutate('deploy')}>
        {status?.failure !== null && status?.failure !== undefined && !isUnderWay(status.state) ? 'Try again' : 'Deploy'}
      </Button>
      {action.error !== null && <ErrorNote error={action.error} />}
      {asked === 'stop' && (
        <Confirm
          title={`Stop ${service.name}?`}
          verb="Stop"
          isDangerous
          onConfirm={() => action.mutate('stop')}
          onClose={() => ask(null)}
        >
          <p>It no longer answers until it is deployed again. Its data, configuration and history stay.</p>
        </Confirm>
      )}
      {asked === 'restart' && (
        <Confirm
          title={`Restart ${service.name}?`}
          verb="Restart"
          onConfirm={() => action.mutate('restart')}
          onClose={() => ask(null)}
        >
          <p>
            New instances of the same release take the place of the running ones. What instances hold in memory or outside their
            volumes is lost.
          </p>
        </Confirm>
      )}
    </>
  );
}
