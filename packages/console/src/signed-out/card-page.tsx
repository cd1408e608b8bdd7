import { ApiError } from '@davit/client';
import { useState, type ReactNode } from 'react';
import { Button } from '../parts/button.tsx';
import { Icon, type IconName } from '../parts/icon.tsx';

interface CardPageProps {
  readonly title: string;
  readonly subtitle?: string;
  readonly children: ReactNode;
}

/** A page that one sees before one is signed in. */
export function CardPage({ title, subtitle = location.host, children }: CardPageProps): ReactNode {
  return (
    <main className="card-page">
      <div className="card">
        <span className="tile">
          <Icon name="davit" size={20} />
        </span>
        <h1>{title}</h1>
        <div className="text-muted">{subtitle}</div>
        {children}
      </div>
    </main>
  );
}

/** Reports that the part of the address behind `#` is missing. */
export function IncompleteLink({ title }: { readonly title: string }): ReactNode {
  return (
    <CardPage title={title}>
      <p className="small-print">This address is incomplete. Open the whole link, with everything after #.</p>
    </CardPage>
  );
}

interface FormProps {
  readonly children: ReactNode;
  readonly submit: string;
  readonly isBusy: boolean;
  readonly wrong: string | null;
  readonly onSubmit: () => void;
}

/** The form of such a page: fields, what is wrong, and one button. */
export function CardForm({ children, submit, isBusy, wrong, onSubmit }: FormProps): ReactNode {
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      {children}
      <div id="wrong" className="wrong" role="alert">
        {wrong}
      </div>
      <Button look="main" isSubmit refusal={isBusy ? 'The server is asked.' : null}>
        {submit}
      </Button>
    </form>
  );
}

interface TextFieldProps {
  readonly id: string;
  readonly label: string;
  readonly icon: IconName;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly type?: 'text' | 'email' | 'password';
  readonly autoComplete?: string;
  readonly isOptional?: boolean;
}

export function TextField({ id, label, icon, value, onChange, ...more }: TextFieldProps): ReactNode {
  return (
    <>
      <label htmlFor={id}>{label}</label>
      <div className="field">
        <Icon name={icon} size={14} />
        <input
          id={id}
          type={more.type ?? 'text'}
          autoComplete={more.autoComplete ?? 'off'}
          spellCheck={false}
          required={more.isOptional !== true}
          value={value}
          onChange={({ target }) => onChange(target.value)}
          aria-describedby="wrong"
        />
      </div>
    </>
  );
}

type FilledField = Pick<TextFieldProps, 'value' | 'onChange'>;

export function EmailField(props: FilledField): ReactNode {
  return <TextField id="email" label="E-mail address" icon="mail" type="email" autoComplete="username" {...props} />;
}

export function NameField(props: FilledField): ReactNode {
  return <TextField id="name" label="Your name" icon="person" autoComplete="name" {...props} />;
}

/** A password that a person chooses. */
export function NewPasswordField(props: FilledField): ReactNode {
  const label = 'Password, at least 10 characters';
  return <TextField id="password" label={label} icon="lock" type="password" autoComplete="new-password" {...props} />;
}

/** Runs the action of a form: while it runs the form is busy, and what fails is shown. */
export function useAction(first: string | null = null): {
  readonly isBusy: boolean;
  readonly wrong: string | null;
  readonly run: (action: () => Promise<void>) => void;
} {
  const [isBusy, setBusy] = useState(false);
  const [wrong, setWrong] = useState<string | null>(first);
  const run = (action: () => Promise<void>): void => {
    setBusy(true);
    setWrong(null);
    action().then(
      () => setBusy(false),
      (error: unknown) => {
        setWrong(refusalOf(error));
        setBusy(false);
      },
    );
  };
  return { isBusy, wrong, run };
}

/** Returns what to tell a person whom the server refused. */
function refusalOf(error: unknown): string {
  if (!(error instanceof ApiError)) return 'The server does not answer. Check that Davit runs, then try again.';
  const [first] = error.errors;
  if (first === undefined) return error.message;
  const words = `${first.path.replaceAll('_', ' ')} ${first.message}.`;
  return words.charAt(0).toUpperCase() + words.slice(1);
}
