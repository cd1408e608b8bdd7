import { useState, type ReactNode } from 'react';
import { withValueAt, type Json } from '../../data/paths.ts';
import { Button } from '../../parts/button.tsx';
import { Conflict } from '../../parts/conflict.tsx';
import { Copyable } from '../../parts/copy.tsx';
import { Entries, EntryField } from '../../parts/entries.tsx';
import { EntryForm } from '../../parts/entry-form.tsx';
import { FieldControl } from '../../parts/field-control.tsx';
import { FormField } from '../../parts/form-field.tsx';
import { FormGuide } from '../../parts/form-guide.tsx';
import { Icon } from '../../parts/icon.tsx';
import { LeaveGuard } from '../../parts/leave-guard.tsx';
import { CopyButton } from '../../parts/once.tsx';
import { Box } from '../../parts/page.tsx';
import { ProbeControl } from '../../parts/probe.tsx';
import { QrCode } from '../../parts/qr-code.tsx';
import { RecordForm } from '../../parts/record-form.tsx';
import { Refusal } from '../../parts/refusal.tsx';
import { RowsControl } from '../../parts/rows.tsx';
import { Saver } from '../../parts/saver.tsx';
import { Segments } from '../../parts/segments.tsx';
import { TextInput } from '../../parts/text-input.tsx';
import { entries, invalid, values } from './sample.ts';

const stored = '0.0.0.0';
const pairs = {
  kind: 'rows',
  add: 'Add a header',
  blank: ['', ''],
  isPairs: true,
  columns: [
    { name: '0', label: 'Header', kind: 'text' },
    { name: '1', label: 'Value', kind: 'text' },
  ],
} as const;

/** Fields of each kind: empty, filled, wrong, and read only; and what surrounds edits. */
export function Forms(): ReactNode {
  const [form, setForm] = useState<Json>(values);
  return (
    <>
      <Box title="Fields, with the words of a refusal">
        <div className="form p-4">
          <Entries
            entries={entries}
            values={form}
            error={invalid}
            onChange={(path, value) => setForm(withValueAt(form, path, value))}
          />
        </div>
      </Box>
      <Box title="A form">
        <div className="form-box">
          <EntryForm
            entries={() => entries.slice(0, 1)}
            verb="Save"
            isPlain
            refusal="This token may only read."
            onSubmit={() => Promise.resolve()}
          />
        </div>
      </Box>
      <Box title="What stands beside a form, and why a page may only be read">
        <div className="grid gap-4 p-4">
          <FormGuide
            facts={{ title: 'What will be made', rows: [['Size', '1 to 3 instances by load, each with 0.5 cores and 512 MiB']] }}
            steps={{ title: 'What happens next', lines: ['The service is created. Nothing runs yet.', 'Deploy it.'] }}
            command="davit api createApplication --body '{}'"
          />
          <Refusal reason="This token may only read." />
        </div>
      </Box>
      <Changed />
      <ReadOnly />
      <Edits />
    </>
  );
}

/** A form of a record: with each click somebody else changes the record, which shows once something is entered. */
function Changed(): ReactNode {
  const [version, setVersion] = useState(1);
  return (
    <Box title="A form of a record">
      <div className="form-box">
        <RecordForm
          entries={entries.slice(1, 2)}
          stored={{ version: String(version), values: { mail: `ada-${version}@example.org` } }}
          refusal={null}
          isPlain
          onSave={() => Promise.resolve()}
        />
        <div className="mt-3">
          <Button isSmall onClick={() => setVersion(version + 1)}>
            Somebody else changes it
          </Button>
        </div>
      </div>
    </Box>
  );
}

function ReadOnly(): ReactNode {
  const rest = { isReadOnly: true, onChange: () => undefined };
  return (
    <Box title="Fields that may not be edited">
      <div className="form p-4">
        <FormField label="Text">
          {(attributes) => (
            <FieldControl {...rest} attributes={attributes} control={{ kind: 'text' }} label="Text" value="sample" />
          )}
        </FormField>
        <RowsControl {...rest} control={pairs} label="Headers" value={[['x-sample', 'yes']]} />
        <ProbeControl {...rest} label="Probe that is read only" value={values.probe} />
      </div>
    </Box>
  );
}

function Edits(): ReactNode {
  const [order, setOrder] = useState<'process' | 'scope'>('process');
  const [value, setValue] = useState(stored);
  const count = value === stored ? 0 : 1;
  return (
    <Box title="Edits">
      <div className="form p-4">
        <div className="field">
          <Icon name="search" />
          <input aria-label="Search" placeholder="Search" />
          <span className="hint">38 of 12,406 lines</span>
        </div>
        <Segments
          label="Order"
          options={[
            ['process', 'What the process gets'],
            ['scope', 'By scope'],
          ]}
          value={order}
          onChange={setOrder}
        />
        <FormField label="Address" help="Another one makes this page ask before it is left." error="must be an address">
          {(control) => <TextInput {...control} value={value} onText={setValue} />}
        </FormField>
        <FormField label="Text of several lines">
          {(control) => <TextInput {...control} rows={3} readOnly value={'one\ntwo'} onText={setValue} />}
        </FormField>
        <EntryField
          entry={{ path: 'sample', label: 'A switch alone', control: { kind: 'switch' } }}
          value={count > 0}
          error={null}
          onChange={(isOn) => setValue(isOn === true ? 'localhost' : stored)}
        />
        <Conflict did="set it to" value="localhost" onKeep={() => undefined} onTake={() => setValue('localhost')} />
        <div className="flex flex-wrap gap-6 items-center">
          <Copyable text="shop.example.org" what="name" />
          <CopyButton text="dvt_sample" words="Copy the token" />
          <QrCode text="https://shop.example.org" label="QR code of an address" />
        </div>
        <div className="diff">
          <div className="minus">− HOST={stored}</div>
          <div className="plus">+ HOST={value}</div>
        </div>
        <LeaveGuard count={count} what="The address" />
        <Saver
          title="1 change."
          about="Nothing is saved yet."
          verb="Review 1 change"
          refusal={count === 0 ? 'Nothing was changed.' : null}
          onSave={() => setValue(stored)}
          onDiscard={() => setValue(stored)}
        />
      </div>
    </Box>
  );
}
