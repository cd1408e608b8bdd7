import { useState, type ReactNode } from 'react';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { FormField } from './form-field.tsx';
import { TextInput } from './text-input.tsx';

interface TypedConfirmProps {
  readonly title: string;
  /** The name that must be typed. */
  readonly name: string;
  readonly verb: string;
  readonly children: ReactNode;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}

/** Asks for the name of what loses data, so that nobody confirms it by habit. */
export function TypedConfirm({ title, name, verb, children, onConfirm, onClose }: TypedConfirmProps): ReactNode {
  const [typed, type] = useState('');
  const isRight = typed === name;
  const confirm = (): void => {
    if (!isRight) return;
    onConfirm();
    onClose();
  };
  return (
    <Dialog label={title} onClose={onClose}>
      <form
        className="in form"
        onSubmit={(event) => {
          event.preventDefault();
          confirm();
        }}
      >
        <h2>{title}</h2>
        <div className="grid gap-2 text-muted">{children}</div>
        <FormField
          label={
            <>
              Type <bdi className="mono">{name}</bdi> to confirm
            </>
          }
        >
          {(control) => <TextInput {...control} value={typed} onText={type} />}
        </FormField>
        <div className="do">
          <Button onClick={onClose}>Leave it</Button>
          <Button look="danger" isSubmit refusal={isRight ? null : `Type ${name} first.`}>
            {verb}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
