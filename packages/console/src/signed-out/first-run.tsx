import { useState, type ReactNode } from 'react';
import { clientOf } from '../api.ts';
import { beginWithCookie } from '../session.ts';
import {
  CardForm,
  CardPage,
  EmailField,
  IncompleteLink,
  NameField,
  NewPasswordField,
  TextField,
  useAction,
} from './card-page.tsx';
import { enterConsole, linkToken } from './link.ts';

/** Creates the first account, by the link that the start of Davit prints. */
export function FirstRun(): ReactNode {
  const [name, setName] = useState('');
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const [organization, setOrganization] = useState('');
  const { isBusy, wrong, run } = useAction();
  const create = async (): Promise<void> => {
    const named = organization.trim() === '' ? {} : { organization_name: organization.trim() };
    const body = { token: linkToken(), email: email.trim(), password, name: name.trim(), ...named };
    const { session_id: id } = await clientOf(null).call('createFirstAccount', { body });
    beginWithCookie(id);
    enterConsole();
  };
  if (linkToken() === '') return <IncompleteLink title="Welcome to Davit" />;
  return (
    <CardPage title="Welcome to Davit" subtitle="Create the first account of this installation">
      <CardForm submit={isBusy ? 'Creating…' : 'Create account'} isBusy={isBusy} wrong={wrong} onSubmit={() => run(create)}>
        <NameField value={name} onChange={setName} />
        <EmailField value={email} onChange={setEmail} />
        <NewPasswordField value={password} onChange={setPassword} />
        <TextField
          id="organization"
          label="Name of your organization (optional)"
          icon="home"
          autoComplete="organization"
          isOptional
          value={organization}
          onChange={setOrganization}
        />
      </CardForm>
      <p className="small-print">The link works once. Restart Davit to get another one.</p>
    </CardPage>
  );
}
