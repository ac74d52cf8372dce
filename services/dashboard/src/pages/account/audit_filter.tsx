import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { dayEnd, dayStartOf } from '../../period.ts';
import { place, setQuery } from '../../router.ts';
import { SelectField, TextField } from '../../ui/form_fields.tsx';

const KINDS = [
  { value: '', label: 'Everything' },
  { value: 'change', label: 'Changes and deeds' },
  { value: 'sign_in', label: 'Sign-ins' },
  { value: 'refusal', label: 'Refusals' },
];

/** What the address asks for, as the API takes it. */
export function auditFilter(query: URLSearchParams): Record<string, string | number | null> {
  return {
    ...{ setting_key: query.get('setting'), changed_by: query.get('by'), kind: query.get('kind') },
    ...{ since: dayStartOf(query.get('from')), until: dayEnd(query.get('to')) },
  };
}

/** Asks for what, by whom, about what and when. */
export function AuditFilter(): VNode {
  const { query } = place.value;
  const asked = (name: string): string => query.get(name) ?? '';
  const [setting, setSetting] = useState(asked('setting'));
  const [by, setBy] = useState(asked('by'));
  const [kind, setKind] = useState(asked('kind'));
  const [from, setFrom] = useState(asked('from'));
  const [to, setTo] = useState(asked('to'));
  const isWrong = from !== '' && to !== '' && from > to;
  return (
    <form
      class="form-row"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isWrong) setQuery({ setting: setting.trim(), by: by.trim(), kind, from, to }, 'push');
      }}
    >
      <SelectField label="What" value={kind} onValue={setKind} options={KINDS} />
      <TextField label="By whom" type="search" hint="A user, or the label of a token." value={by} onValue={setBy} />
      <TextField
        label="About"
        type="search"
        placeholder="site/shop or destination/shop/"
        hint="One thing, or with / at its end all below it."
        value={setting}
        onValue={setSetting}
      />
      <TextField label="First day" type="date" value={from} onValue={setFrom} />
      <TextField
        label="Last day"
        type="date"
        value={to}
        onValue={setTo}
        problem={isWrong ? 'The last day must not lie before the first.' : ''}
      />
      <div class="field-button">
        <button type="submit" class="button">
          Filter
        </button>
      </div>
    </form>
  );
}
