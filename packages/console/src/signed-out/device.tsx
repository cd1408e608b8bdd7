import { useQuery } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { clientOf } from '../api.ts';
import { Button } from '../parts/button.tsx';
import { sentence } from '../words.ts';
import { CardPage, CardForm, TextField, useAction } from './card-page.tsx';
import { linkToken } from './link.ts';

const client = clientOf(null);

/** Gives a program that shows a user code a token of its own. The person is signed in. */
export function Device(): ReactNode {
  const [code, setCode] = useState(linkToken());
  const [asked, setAsked] = useState(linkToken());
  const [outcome, setOutcome] = useState<string | null>(null);
  const { isBusy, wrong, run } = useAction();
  const body = { user_code: asked };
  const program = useQuery({
    queryKey: ['deviceSignIn', asked],
    queryFn: () => client.call('readDeviceSignIn', { body }),
    enabled: asked !== '',
    retry: false,
  });
  const organizations = useQuery({ queryKey: ['organizations of person'], queryFn: () => client.call('listOrganization') });
  const [chosen, setChosen] = useState('');
  if (outcome !== null) {
    return (
      <CardPage title={outcome} subtitle="You can close this page.">
        {null}
      </CardPage>
    );
  }
  if (program.data === undefined) {
    const refusal = asked === '' ? null : (program.error?.message ?? null);
    return (
      <CardPage title="Sign a program in" subtitle="Enter the code that the program shows">
        <CardForm submit="Continue" isBusy={program.isFetching} wrong={refusal} onSubmit={() => setAsked(code.trim())}>
          <TextField id="code" label="Code" icon="key" value={code} onChange={setCode} />
        </CardForm>
      </CardPage>
    );
  }
  const { name, address, scope } = program.data;
  const all = organizations.data?.results ?? [];
  const organizationId = chosen === '' ? (all[0]?.id ?? '') : chosen;
  const confirm = async (): Promise<void> => {
    await client.call('confirmDeviceSignIn', { body: { ...body, organization_id: organizationId } });
    setOutcome(`${name} is signed in`);
  };
  const deny = async (): Promise<void> => {
    await client.call('denyDeviceSignIn', { body });
    setOutcome(`${name} is refused`);
  };
  return (
    <CardPage title={`Sign ${name} in?`} subtitle={`Asked from ${address}${scope === null ? '' : `, scope ${sentence(scope)}`}`}>
      <CardForm submit="Sign it in" isBusy={isBusy || organizationId === ''} wrong={wrong} onSubmit={() => run(confirm)}>
        <label htmlFor="organization">Organization</label>
        <div className="field">
          <select id="organization" value={organizationId} onChange={({ target }) => setChosen(target.value)}>
            {all.map((one) => (
              <option key={one.id} value={one.id}>
                {one.name}
              </option>
            ))}
          </select>
        </div>
      </CardForm>
      <Button look="quiet" onClick={() => run(deny)}>
        Refuse
      </Button>
      <p className="small-print">
        Only go on if you started this program and it shows the code {asked}. It gets a token with your rights.
      </p>
    </CardPage>
  );
}
