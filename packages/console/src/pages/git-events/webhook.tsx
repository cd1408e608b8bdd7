import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { api } from '../../api.ts';
import { webhookStatusOf, type WebhookStatus } from '../../data/git-events.ts';
import { editRefusalIn } from '../../data/rights.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { Copyable } from '../../parts/copy.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { ErrorNote, LoadingRows } from '../../parts/face.tsx';
import { State } from '../../parts/state.tsx';
import type { Service, Shape } from '../../words.ts';

const words: Readonly<Record<WebhookStatus['status'], readonly [Shape, string]>> = {
  ACTIVE: ['ok', 'The git host reports pushes'],
  NOT_CONFIGURED: ['warn', 'The git host does not report pushes: the repository is asked for new commits instead'],
  MISCONFIGURED: ['warn', 'The webhook at the git host is incomplete'],
  UNABLE_TO_VERIFY: ['off', 'Whether the git host reports pushes is not known: it sent nothing yet, and no token may ask it'],
};

/** Whether pushes are reported, and how to set that up. */
export function GitWebhook({ service }: { readonly service: Service }): ReactNode {
  const status = useQuery(webhookStatusOf(service));
  const mayNot = useQuery(editRefusalIn(service.environment.id)).data ?? null;
  const queries = useQueryClient();
  const [isShown, show] = useState(false);
  const sync = useMutation({
    mutationFn: () => api().call('syncServiceGitWebhook', { params: { serviceId: service.id } }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['gitWebhookStatus', service.environment.id] }),
  });
  if (status.data === null) return null;
  const [shape, text] =
    status.data === undefined ? (['wait', 'The git host is being asked'] as const) : words[status.data.status];
  const missing = status.data?.missing_events ?? [];
  return (
    <>
      <div className="toolbar">
        <span className="says flex-1 basis-64 min-w-0">
          <State shape={status.error === null ? shape : 'warn'}>
            {status.data === undefined && status.error !== null ? 'The git host could not be asked' : text}
          </State>
          {missing.length > 0 && <span className="text-muted"> It lacks {missing.join(', ')}.</span>}
        </span>
        <Button refusal={mayNot} onClick={() => show(true)}>
          Show its address
        </Button>
        <Button refusal={mayNot ?? (sync.isPending ? 'The git host is asked.' : null)} onClick={() => sync.mutate()}>
          Set up the webhook
        </Button>
      </div>
      <ErrorNote error={sync.error} />
      {isShown && <WebhookDialog service={service} onClose={() => show(false)} />}
    </>
  );
}

function WebhookDialog({ service, onClose }: { readonly service: Service; readonly onClose: () => void }): ReactNode {
  const read = useQuery({
    queryKey: ['gitWebhook', service.environment.id, service.id],
    queryFn: () => api().call('createServiceGitWebhook', { params: { serviceId: service.id }, body: { rotate: false } }),
    // A secret is kept no longer than it is shown.
    gcTime: 0,
    staleTime: 0,
  });
  const rotate = useMutation({
    mutationFn: () => api().call('createServiceGitWebhook', { params: { serviceId: service.id }, body: { rotate: true } }),
    onSuccess: () => read.refetch(),
  });
  const [isAsked, ask] = useState(false);
  if (isAsked) {
    return (
      <Confirm
        title="Make a new secret?"
        verb="New secret"
        isDangerous
        onConfirm={() => rotate.mutate()}
        onClose={() => ask(false)}
      >
        <p>
          Davit then refuses what the git host signs with the present secret: no push is seen until the git host has the new one.
          Enter it there; where a git token allows that, “Set up the webhook” does it.
        </p>
        <p>This concerns all services of the organization that are built from this repository.</p>
      </Confirm>
    );
  }
  return (
    <Dialog label="Webhook at the git host" className="wide" onClose={onClose}>
      <div className="in">
        <h2>Webhook at the git host</h2>
        <p className="text-muted">All services of the organization that are built from this repository share it.</p>
        {read.data === undefined && read.error === null && <LoadingRows rows={2} />}
        <ErrorNote error={read.error ?? rotate.error} />
        {read.data !== undefined && (
          <dl className="definitions">
            <dt>Address</dt>
            <dd>
              <Copyable text={read.data.url} what="address" />
            </dd>
            <dt>Secret</dt>
            <dd>
              <Copyable text={read.data.secret} what="secret" />
            </dd>
            <dt>Content type</dt>
            <dd>{read.data.content_type}</dd>
            <dt>Events</dt>
            <dd>{read.data.events.join(', ')}</dd>
          </dl>
        )}
        <div className="do">
          <Button onClick={() => ask(true)}>New secret</Button>
          <Button onClick={onClose}>Close</Button>
        </div>
      </div>
    </Dialog>
  );
}
