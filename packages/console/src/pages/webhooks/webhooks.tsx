import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { api } from '../../api.ts';
import { webhookRefusalIn, webhooksOf, type Webhook } from '../../data/webhooks.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { ErrorNote, Face, FailedFace, LoadingRows } from '../../parts/face.tsx';
import { Box, Head } from '../../parts/page.tsx';
import { State } from '../../parts/state.tsx';
import { sentence } from '../../words.ts';
import { Deliveries } from './deliveries.tsx';
import { WebhookForm } from './form.tsx';

/** The webhooks of an organization with what was delivered to them. */
export function WebhooksPage(): ReactNode {
  const { organizationId = '' } = useParams({ strict: false });
  const webhooks = useQuery(webhooksOf(organizationId));
  const mayNot = useQuery(webhookRefusalIn(organizationId)).data ?? null;
  const [isAdding, add] = useState(false);
  if (webhooks.data === undefined && webhooks.error !== null) {
    return <FailedFace error={webhooks.error} onRetry={() => void webhooks.refetch()} isPage />;
  }
  return (
    <>
      <Head
        title="Webhooks"
        facts={<span>Addresses of yours that get a request for each deployment</span>}
        actions={
          <Button look="main" refusal={mayNot} onClick={() => add(true)}>
            Add a webhook
          </Button>
        }
      />
      {webhooks.data === undefined && (
        <div className="box">
          <LoadingRows />
        </div>
      )}
      {webhooks.data?.length === 0 && (
        <div className="box">
          <Face icon="mail" title="No webhooks yet">
            A webhook gets a request when a deployment starts, succeeds, fails or is canceled. Each attempt is kept here.
          </Face>
        </div>
      )}
      {webhooks.data?.map((webhook) => (
        <WebhookBox key={webhook.id} organizationId={organizationId} webhook={webhook} refusal={mayNot} />
      ))}
      {isAdding && <WebhookForm organizationId={organizationId} webhook={null} onClose={() => add(false)} />}
    </>
  );
}

interface WebhookBoxProps {
  readonly organizationId: string;
  readonly webhook: Webhook;
  readonly refusal: string | null;
}

function WebhookBox({ organizationId, webhook, refusal }: WebhookBoxProps): ReactNode {
  const [asked, ask] = useState<'edit' | 'delete' | null>(null);
  const queries = useQueryClient();
  const remove = useMutation({
    mutationFn: () => api().call('deleteOrganizationWebhook', { params: { organizationId, webhookId: webhook.id } }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['webhooks', organizationId] }),
  });
  const { target_url: url = '', description = '', events = [], project_names_filter: projects = [] } = webhook;
  const modes = webhook.environment_types_filter ?? [];
  const about = [
    description,
    events.map((event) => sentence(event).toLowerCase()).join(', '),
    projects.length > 0 ? `projects ${projects.join(', ')}` : '',
    modes.length > 0 ? `environments ${modes.map((mode) => mode.toLowerCase()).join(', ')}` : '',
  ].filter((part) => part !== '');
  return (
    <Box
      title={url}
      more={
        <span className="inline-flex gap-1 items-center">
          <State shape={webhook.enabled === false ? 'off' : 'ok'}>{webhook.enabled === false ? 'Off' : 'On'}</State>
          <Button look="quiet" isSmall refusal={refusal} onClick={() => ask('edit')}>
            Edit<span className="sr-only"> {url}</span>
          </Button>
          <Button look="quiet" isSmall refusal={refusal} onClick={() => ask('delete')}>
            Delete<span className="sr-only"> {url}</span>
          </Button>
        </span>
      }
    >
      <p className="quiet-line">
        <bdi>{about.join(' · ')}</bdi>
      </p>
      <ErrorNote error={remove.error} />
      <Deliveries organizationId={organizationId} webhookId={webhook.id} refusal={refusal} />
      {asked === 'edit' && <WebhookForm organizationId={organizationId} webhook={webhook} onClose={() => ask(null)} />}
      {asked === 'delete' && (
        <Confirm
          title="Delete this webhook?"
          verb="Delete"
          isDangerous
          onConfirm={() => remove.mutate()}
          onClose={() => ask(null)}
        >
          <p>{url} gets no more requests. Deliveries that wait for another attempt, and the list of attempts, are lost.</p>
        </Confirm>
      )}
    </Box>
  );
}
