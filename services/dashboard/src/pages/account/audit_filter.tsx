import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
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
    ...{ since: dayStartOf(query.get('since')), until: dayEnd(query.get('until')) },
  };
}

function fieldsIn(query: URLSearchParams) {
  const asked = (name: string): string => query.get(name) ?? '';
  return {
    setting: asked('setting'),
    by: asked('by'),
    kind: asked('kind'),
    since: asked('since'),
    until: asked('until'),
  };
}

/** Asks for what, by whom, about what and when. */
export function AuditFilter(): VNode {
  const { query } = place.value;
  const inAddress = JSON.stringify(fieldsIn(query));
  const [typed, setTyped] = useState(() => fieldsIn(query));
  // The way back and forward changes them too. What else the address says, such as a change that is opened, leaves what is typed.
  useEffect(() => setTyped(fieldsIn(place.peek().query)), [inAddress]);
  const field = (name: keyof typeof typed) => ({
    value: typed[name],
    onValue: (value: string) => setTyped({ ...typed, [name]: value }),
  });
  const { setting, by, kind, since, until } = typed;
  const isWrong = since !== '' && until !== '' && since > until;
  return (
    <form
      class="form-row"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isWrong) setQuery({ setting: setting.trim(), by: by.trim(), kind, since, until }, 'push');
      }}
    >
      <SelectField label="What" options={KINDS} {...field('kind')} />
      <TextField label="By whom" type="search" hint="A user, or the label of a token." {...field('by')} />
      <TextField
        label="About"
        type="search"
        placeholder="site/shop or destination/shop/"
        hint="One thing, or with / at its end all below it."
        {...field('setting')}
      />
      <TextField label="First day" type="date" {...field('since')} />
      <TextField
        label="Last day"
        type="date"
        {...field('until')}
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
