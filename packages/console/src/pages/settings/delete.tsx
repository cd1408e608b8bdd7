import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { deleteService } from '../../data/settings.ts';
import { Button } from '../../parts/button.tsx';
import { ErrorNote } from '../../parts/face.tsx';
import { Box } from '../../parts/page.tsx';
import { TypedConfirm } from '../../parts/typed-confirm.tsx';
import type { Service } from '../../words.ts';

const lost: Readonly<Record<Service['service_type'], string>> = {
  APPLICATION: 'Its instances, volumes and addresses are deleted with all data in them.',
  CONTAINER: 'Its instances, volumes and addresses are deleted with all data in them.',
  DATABASE: 'All its data is deleted. Its backups stay until they expire.',
  JOB: 'Its schedule and outputs are deleted; its on_delete command runs first.',
  HELM: 'The chart is uninstalled with all that it created.',
  TERRAFORM: 'All resources that it created are destroyed.',
};

/** The end of the settings: deletes the service. */
export function DeleteService({ service, refusal }: { readonly service: Service; readonly refusal: string | null }): ReactNode {
  const [isAsked, ask] = useState(false);
  const queries = useQueryClient();
  const navigate = useNavigate();
  const environmentId = service.environment.id;
  const action = useMutation({
    mutationFn: () => deleteService(service),
    onSuccess: async () => {
      // Edits of what is deleted are nothing to ask about.
      await navigate({ to: '/environment/$environmentId', params: { environmentId }, ignoreBlocker: true });
      for (const key of ['services', 'details']) void queries.invalidateQueries({ queryKey: [key, environmentId] });
      void queries.invalidateQueries({ queryKey: ['overview'] });
    },
  });
  return (
    <Box title="Delete">
      <div className="setting">
        <p className="text-muted">{lost[service.service_type]} Its history stays in the audit log.</p>
        <div>
          <Button refusal={refusal} onClick={() => ask(true)}>
            Delete {service.name}
          </Button>
          <ErrorNote error={action.error} />
        </div>
      </div>
      {isAsked && (
        <TypedConfirm
          title={`Delete ${service.name}?`}
          name={service.name}
          verb="Delete"
          onConfirm={() => action.mutate()}
          onClose={() => ask(false)}
        >
          <p>{lost[service.service_type]} This cannot be undone.</p>
        </TypedConfirm>
      )}
    </Box>
  );
}
