import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { saveWebhook, type Webhook, type WebhookRequest } from '../../data/webhooks.ts';
import { Button } from '../../parts/button.tsx';
import { FormDialog } from '../../parts/form-dialog.tsx';
import { ErrorNote } from '../../parts/face.tsx';
import { FormField, messageAt } from '../../parts/form-field.tsx';
import { TextInput } from '../../parts/text-input.tsx';
import { sentence } from '../../words.ts';

interface WebhookFormProps {
  readonly organizationId: string;
  /** null: a new one. */
  readonly webhook: Webhook | null;
  readonly onClose: () => void;
}

const events = ['DEPLOYMENT_STARTED', 'DEPLOYMENT_SUCCESSFUL', 'DEPLOYMENT_FAILURE', 'DEPLOYMENT_CANCELLED'] as const;
const fieldNames = ['target_url', 'target_secret', 'description', 'events', 'kind'];

function requestOf(webhook: Webhook | null): WebhookRequest {
  if (webhook === null) return { kind: 'STANDARD', target_url: '', events: [...events], enabled: true };
  const { kind = 'STANDARD', target_url = '', events: chosen = [], enabled = true, description = '' } = webhook;
  const { project_names_filter: projects = [], environment_types_filter: modes = [] } = webhook;
  return {
    kind,
    target_url,
    events: chosen,
    enabled,
    description,
    project_names_filter: projects,
    environment_types_filter: modes,
  };
}

/** Asks for the address of a webhook and for the events that it gets. */
export function WebhookForm({ organizationId, webhook, onClose }: WebhookFormProps): ReactNode {
  const queries = useQueryClient();
  const [request, setRequest] = useState<WebhookRequest>(() => requestOf(webhook));
  const change = (more: Partial<WebhookRequest>): void => setRequest((now) => ({ ...now, ...more }));
  const save = useMutation({
    mutationFn: () => saveWebhook(organizationId, webhook, request),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['webhooks', organizationId] });
      onClose();
    },
  });
  const title = webhook === null ? 'Add a webhook' : 'Edit the webhook';
  const isAtField = fieldNames.some((name) => messageAt(save.error, name) !== null);
  return (
    <FormDialog label={title} onClose={onClose}>
      <form
        className="in form"
        onSubmit={(event) => {
          event.preventDefault();
          if (!save.isPending) save.mutate();
        }}
      >
        <h2>{title}</h2>
        <Fields request={request} hasSecret={webhook?.target_secret_set === true} error={save.error} onChange={change} />
        {!isAtField && <ErrorNote error={save.error} />}
        <div className="do">
          <Button onClick={onClose}>Cancel</Button>
          <Button look="main" isSubmit refusal={save.isPending ? 'It is being saved.' : null}>
            {webhook === null ? 'Add' : 'Save'}
          </Button>
        </div>
      </form>
    </FormDialog>
  );
}

interface FieldsProps {
  readonly request: WebhookRequest;
  readonly hasSecret: boolean;
  readonly error: Error | null;
  readonly onChange: (more: Partial<WebhookRequest>) => void;
}

function Fields({ request, hasSecret, error, onChange }: FieldsProps): ReactNode {
  return (
    <>
      <FormField label="Address" error={messageAt(error, 'target_url')}>
        {(control) => <TextInput {...control} value={request.target_url} onText={(text) => onChange({ target_url: text })} />}
      </FormField>
      <FormField
        label="Secret"
        help={hasSecret ? 'One is set. Empty: it stays.' : 'Signs each request. It is never shown again.'}
        error={messageAt(error, 'target_secret')}
      >
        {(control) => (
          <input
            {...control}
            type="password"
            autoComplete="new-password"
            value={request.target_secret ?? ''}
            onChange={({ target: { value } }) => onChange({ target_secret: value === '' ? undefined : value })}
          />
        )}
      </FormField>
      <FormField label="Form" error={messageAt(error, 'kind')}>
        {(control) => (
          <select
            {...control}
            value={request.kind}
            onChange={({ target }) => onChange({ kind: target.value === 'SLACK' ? 'SLACK' : 'STANDARD' })}
          >
            <option value="STANDARD">JSON</option>
            <option value="SLACK">Message for a chat</option>
          </select>
        )}
      </FormField>
      <FormField label="Description" error={messageAt(error, 'description')}>
        {(control) => (
          <TextInput {...control} value={request.description ?? ''} onText={(text) => onChange({ description: text })} />
        )}
      </FormField>
      <fieldset className="choices">
        <legend>Events</legend>
        {events.map((event) => (
          <label key={event} className="check">
            <input
              type="checkbox"
              checked={request.events.includes(event)}
              onChange={({ target }) =>
                onChange({ events: events.filter((one) => (one === event ? target.checked : request.events.includes(one))) })
              }
            />
            {sentence(event)}
          </label>
        ))}
        {messageAt(error, 'events') !== null && (
          <div className="wrong" role="alert">
            {messageAt(error, 'events')}
          </div>
        )}
      </fieldset>
      <label className="check">
        <input
          type="checkbox"
          checked={request.enabled === true}
          onChange={({ target }) => onChange({ enabled: target.checked })}
        />
        Send requests
      </label>
    </>
  );
}
