import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { saveDomain, type Domain } from '../../data/domains.ts';
import { Button } from '../../parts/button.tsx';
import { FormDialog } from '../../parts/form-dialog.tsx';
import { ErrorNote } from '../../parts/face.tsx';
import { FormField, messageAt } from '../../parts/form-field.tsx';
import { TextInput } from '../../parts/text-input.tsx';
import type { Service } from '../../words.ts';

interface DomainFormProps {
  readonly service: Service;
  /** null: a new one. */
  readonly domain: Domain | null;
  readonly onClose: () => void;
}

/** Asks for a domain and how it is served. */
export function DomainForm({ service, domain, onClose }: DomainFormProps): ReactNode {
  const queries = useQueryClient();
  const [name, setName] = useState(domain?.domain ?? '');
  const [hasCertificate, setCertificate] = useState(domain?.generate_certificate ?? true);
  const [hasCdn, setCdn] = useState(domain?.use_cdn ?? false);
  const save = useMutation({
    mutationFn: () => saveDomain(service, domain, { domain: name, generate_certificate: hasCertificate, use_cdn: hasCdn }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['domains', service.environment.id] });
      onClose();
    },
  });
  const atField = messageAt(save.error, 'domain');
  const title = domain === null ? 'Add a domain' : `Edit ${domain.domain}`;
  return (
    <FormDialog label={title} onClose={onClose}>
      <form
        className="in form"
        onSubmit={(event) => {
          event.preventDefault();
          if (name !== '' && !save.isPending) save.mutate();
        }}
      >
        <h2>{title}</h2>
        <FormField label="Domain" help="shop.example.org, or *.example.org for all names of one label." error={atField}>
          {(control) => <TextInput {...control} value={name} onText={(text) => setName(text.trim())} />}
        </FormField>
        <label className="check">
          <input type="checkbox" checked={hasCertificate} onChange={({ target }) => setCertificate(target.checked)} />
          Issue and renew a certificate
        </label>
        <label className="check">
          <input type="checkbox" checked={hasCdn} onChange={({ target }) => setCdn(target.checked)} />A CDN answers under this
          name
        </label>
        {atField === null && <ErrorNote error={save.error} />}
        <div className="do">
          <Button onClick={onClose}>Cancel</Button>
          <Button
            look="main"
            isSubmit
            refusal={name === '' ? 'The domain is missing.' : save.isPending ? 'It is being saved.' : null}
          >
            {domain === null ? 'Add' : 'Save'}
          </Button>
        </div>
      </form>
    </FormDialog>
  );
}
