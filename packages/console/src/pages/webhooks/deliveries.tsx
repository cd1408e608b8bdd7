import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { api } from '../../api.ts';
import { deliveriesOf, type Delivery } from '../../data/webhooks.ts';
import { Button } from '../../parts/button.tsx';
import { ErrorNote, FailedFace, LoadingRows } from '../../parts/face.tsx';
import { Ago, Cut } from '../../parts/page.tsx';
import { State } from '../../parts/state.tsx';
import { sentence } from '../../words.ts';

interface DeliveriesProps {
  readonly organizationId: string;
  readonly webhookId: string;
  readonly refusal: string | null;
}

/** The attempts to deliver to a webhook, each with what was answered. */
export function Deliveries({ organizationId, webhookId, refusal }: DeliveriesProps): ReactNode {
  const deliveries = useQuery(deliveriesOf(organizationId, webhookId));
  if (deliveries.data === undefined && deliveries.error !== null) {
    return <FailedFace error={deliveries.error} onRetry={() => void deliveries.refetch()} />;
  }
  if (deliveries.data === undefined) return <LoadingRows rows={2} />;
  if (deliveries.data.length === 0) return <div className="quiet-line">Nothing was delivered yet.</div>;
  return (
    <table className="list">
      <thead>
        <tr>
          <th className="w-[30%]">Event</th>
          <th className="w-[16%]">Answer</th>
          <th>Text of the answer</th>
          <th className="w-[12%]">Time</th>
          <th className="w-[120px]">
            <span className="sr-only">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {deliveries.data.map((delivery) => (
          <DeliveryRow
            key={delivery.id}
            organizationId={organizationId}
            webhookId={webhookId}
            delivery={delivery}
            refusal={refusal}
          />
        ))}
      </tbody>
    </table>
  );
}

function DeliveryRow({
  organizationId,
  webhookId,
  delivery,
  refusal,
}: DeliveriesProps & { readonly delivery: Delivery }): ReactNode {
  const { target_response_status_code: status, target_response_body: answer } = delivery;
  const queries = useQueryClient();
  const again = useMutation({
    mutationFn: () => api().call('redeliverWebhookEvent', { params: { organizationId, webhookId, webhookEventId: delivery.id } }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['deliveries', organizationId, webhookId] }),
  });
  const isGood = status >= 200 && status < 300;
  return (
    <tr>
      <td>
        <div className="name">
          <Cut text={sentence(delivery.matched_event)} />
        </div>
        <div className="under">
          <Cut text={delivery.target_url_used} />
        </div>
      </td>
      <td>
        <State shape={isGood ? 'ok' : 'bad'}>{status === 0 ? 'No answer' : status}</State>
      </td>
      <td className="wide-only">
        <Cut text={answer ?? ''} />
      </td>
      <td className="wide-only nowrap">
        <Ago at={delivery.created_at} />
      </td>
      <td className="do text-right">
        <Button isSmall refusal={refusal ?? (again.isPending ? 'The server is asked.' : null)} onClick={() => again.mutate()}>
          {isGood ? 'Deliver again' : 'Try again'}
        </Button>
        {again.isSuccess && (
          <span className="under" role="status">
            It is sent again.
          </span>
        )}
        <ErrorNote error={again.error} />
      </td>
    </tr>
  );
}
