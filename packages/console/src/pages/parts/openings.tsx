import { Link } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { EntryDialog } from '../../parts/entry-form.tsx';
import { FormDialog } from '../../parts/form-dialog.tsx';
import { FormField } from '../../parts/form-field.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Menu } from '../../parts/menu.tsx';
import { Once } from '../../parts/once.tsx';
import { Box } from '../../parts/page.tsx';
import { Tabs } from '../../parts/tabs.tsx';
import { TextInput } from '../../parts/text-input.tsx';
import { TypedConfirm } from '../../parts/typed-confirm.tsx';
import { entries, invalid } from './sample.ts';

const kinds = ['Dialog', 'Question', 'Question with a name', 'Form', 'Fields', 'Shown once'] as const;

/** Shows parts that open or lead elsewhere: dialogs, a menu, tabs. */
export function Openings(): ReactNode {
  const [asked, ask] = useState<(typeof kinds)[number] | null>(null);
  const close = (): void => ask(null);
  return (
    <Box title="Dialogs, menu, tabs">
      <div className="grid gap-4 p-4">
        <div className="flex flex-wrap gap-2">
          {kinds.map((kind) => (
            <Button key={kind} onClick={() => ask(kind)}>
              {kind}
            </Button>
          ))}
          <Menu
            className="button"
            button={
              <>
                Menu <Icon name="down" size={14} />
              </>
            }
          >
            <button type="button">One</button>
            <hr />
            <button type="button">Another one</button>
          </Menu>
        </div>
        <Tabs label="Sample">
          <Link to="/parts">Open</Link>
          <Link to="/">Another page</Link>
        </Tabs>
      </div>
      {asked === 'Dialog' && (
        <Dialog label="A dialog" onClose={close}>
          <div className="in">
            <h2>A dialog</h2>
            <p className="text-muted">Escape, and a click beside it, close it.</p>
            <div className="do">
              <Button onClick={close}>Close</Button>
            </div>
          </div>
        </Dialog>
      )}
      {asked === 'Question' && (
        <Confirm title="Stop api?" verb="Stop" isDangerous onConfirm={close} onClose={close}>
          <p>It no longer answers until it is deployed again.</p>
        </Confirm>
      )}
      {asked === 'Question with a name' && (
        <TypedConfirm title="Delete orders?" name="orders" verb="Delete" onConfirm={close} onClose={close}>
          <p>Its data and 3 backups are lost. This cannot be undone.</p>
        </TypedConfirm>
      )}
      {asked === 'Form' && (
        <EntryDialog
          title="New record"
          about="The server refuses it."
          entries={() => entries.slice(0, 2)}
          verb="Create record"
          onSubmit={() => Promise.reject(invalid)}
          onClose={close}
        />
      )}
      {asked === 'Fields' && <Fields onClose={close} />}
      {asked === 'Shown once' && (
        <Once title="The new API token" text="dvt_sample" onClose={close}>
          It is shown only now: store it where programs find it.
        </Once>
      )}
    </Box>
  );
}

/** A dialog that asks before something that was entered is lost. */
function Fields({ onClose }: { readonly onClose: () => void }): ReactNode {
  const [text, setText] = useState('');
  return (
    <FormDialog label="Fields" onClose={onClose}>
      <div className="in form">
        <h2>Fields</h2>
        <FormField label="Text">{(control) => <TextInput {...control} value={text} onText={setText} />}</FormField>
        <div className="do">
          <Button onClick={onClose}>Cancel</Button>
        </div>
      </div>
    </FormDialog>
  );
}
