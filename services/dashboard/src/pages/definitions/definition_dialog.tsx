import { useEffect, useMemo, useState } from 'preact/hooks';
import type { EventDefinition } from '#pipelines/settings/event_definitions.ts';
import { matchesUrl } from '#pipelines/settings/url_pattern.ts';
import type { Meta } from '#services/control_api/fields.ts';
import type { SiteItem } from '#services/control_api/sites.ts';
import { type ApiError, type ApiResult, request, sitePath } from '../../api/request.ts';
import { EditForm, RemoveButton, useEditForm } from '../../editing/editing.tsx';
import { mayAt } from '../../session.ts';
import { Dialog, toast } from '../../ui/dialog.tsx';
import { CheckField, SelectField, TextField, textFields } from '../../ui/form_fields.tsx';
import { Badge, Tabs } from '../../ui/panel.tsx';
import * as definitions from './definition_form.ts';
import { draftOfPicked, type Picked, pickedText } from './pick_dialog.tsx';

interface DefinitionDialogProps {
  siteId: string;
  definition: EventDefinition | null;
  /** Of the site it is part of, as it was read. */
  version: string | null;
  destinations: readonly string[];
  /** What a new one was made of on a page. */
  picked?: Picked | null;
  onChanged(): void;
  onClose(): void;
}

export function DefinitionDialog(props: DefinitionDialogProps) {
  const { siteId, definition, version, destinations, picked = null, onChanged, onClose } = props;
  const item: VersionedDefinition = { definition, version: version ?? '', changed_at: 0, changed_by: '' };
  const editing = useEditForm<VersionedDefinition, definitions.DefinitionDraft>({
    item,
    draftOf: (one) => definitions.draftOfDefinition(one.definition),
    read: () => readDefinition(siteId, definition?.id ?? ''),
    write: (draft, base) => writeDefinition(siteId, draft, base),
    onSaved({ definition: saved }) {
      toast(`Saved ${saved?.name ?? ''}`);
      onClose();
    },
    onDone: onChanged,
  });
  const { draft } = editing;
  useEffect(() => {
    if (picked !== null) editing.edit(draftOfPicked(picked));
  }, []);
  const [view, setView] = useState('says');
  const mayChange = mayAt('definitions.change', siteId);
  const form = () => (
    <EditForm
      form={editing}
      mayChange={mayChange}
      mayBeUnchanged
      more={definition === null ? null : <RemoveDefinition {...props} item={item} definition={definition} />}
      what="this definition"
      names={definitions.DRAFT_NAMES}
    >
      {picked !== null && <p class="note wraps">{pickedText(picked)}</p>}
      <DefinitionFields
        draft={draft}
        isNew={definition === null}
        destinations={destinations}
        failure={editing.failure}
        onDraft={editing.edit}
      />
    </EditForm>
  );
  return (
    <Dialog
      title={definition === null ? 'New event definition' : definition.name}
      kind="side"
      isChanged={editing.isChanged}
      onClose={onClose}
    >
      <Tabs
        label="Event definition"
        chosen={view}
        onChosen={setView}
        tabs={[
          { id: 'says', label: 'Definition', content: form },
          { id: 'try', label: 'Test', keeps: true, content: () => <DefinitionTester draft={draft} /> },
        ]}
      />
    </Dialog>
  );
}

interface RemoveDefinitionProps extends Pick<DefinitionDialogProps, 'siteId' | 'onChanged' | 'onClose'> {
  item: VersionedDefinition;
  definition: EventDefinition;
}

const RemoveDefinition = ({ siteId, item, definition, onChanged, onClose }: RemoveDefinitionProps) => (
  <RemoveButton
    item={item}
    name={definition.name}
    what="this definition"
    names={definitions.DRAFT_NAMES}
    factsOf={(one) => ({ ...definitions.draftOfDefinition(one.definition) })}
    read={() => readDefinition(siteId, definition.id)}
    remove={(base) => removeDefinition(siteId, definition.id, base)}
    onRemoved={() => {
      onChanged();
      onClose();
    }}
    onTheirs={onChanged}
  >
    It stops firing. Events that it already fired are kept.
  </RemoveButton>
);

interface DefinitionFieldsProps {
  draft: definitions.DefinitionDraft;
  isNew: boolean;
  destinations: readonly string[];
  failure: ApiError | null;
  onDraft(change: Partial<definitions.DefinitionDraft>): void;
}

function DefinitionFields({ draft, isNew, destinations, failure, onDraft }: DefinitionFieldsProps) {
  const kind = definitions.triggerOf(draft.trigger);
  const number = kind?.number;
  const field = textFields(draft, onDraft, failure);
  return (
    <>
      {isNew && (
        <TextField label="Id" required placeholder="newsletter" hint="Cannot be changed later." {...field('id')} />
      )}
      <TextField label="Event name" required placeholder="generate_lead" {...field('name')} />
      <SelectField label="Trigger" options={definitions.TRIGGERS} {...field('trigger')} />
      {number !== undefined && (
        <TextField
          label={number.label}
          inputMode="numeric"
          placeholder={number.usual}
          value={definitions.lineValue(draft.properties, number.property)}
          onValue={(value) => onDraft({ properties: definitions.withLine(draft.properties, number.property, value) })}
        />
      )}
      {kind?.hasElement === true && (
        <div class="form-row">
          <TextField
            label="Element selector"
            placeholder="form.newsletter"
            hint="A CSS selector. For clicks, empty means any link or button."
            {...field('selector')}
          />
          <TextField label="Text contains (optional)" placeholder="Sign up" {...field('text')} />
        </div>
      )}
      <TextField
        label="Pages (optional)"
        placeholder="/blog/*"
        hint="A path, a host with a path, or a full URL; * matches any text. Empty means every page."
        {...field('urlPattern')}
      />
      <details>
        <summary>Data and destinations</summary>
        <div class="stack">
          <TextField
            label="Conversion event (optional)"
            placeholder="purchase"
            hint="The event that destinations receive."
            {...field('conversion')}
          />
          <TextField
            label="Value selector (optional)"
            placeholder=".total"
            {...field('valueSelector', 'value_selector')}
          />
          <TextField
            label="Captured fields (optional)"
            lines={3}
            placeholder="email = input[name=email]"
            hint="One per line: property = selector."
            {...field('fields', 'field_selectors')}
          />
          <TextField
            label="Fixed properties (optional)"
            lines={3}
            placeholder="section = footer"
            hint={'One per line. Numbers, true and false keep their type; "7" in quotes is text.'}
            {...field('properties')}
          />
          {destinations.length > 0 && <LeftOut draft={draft} destinations={destinations} onDraft={onDraft} />}
        </div>
      </details>
      <CheckField
        label="Enabled"
        checked={draft.enabled}
        onChecked={(enabled) => onDraft({ enabled })}
        hint="Browsers pick up changes within minutes."
      />
    </>
  );
}

function LeftOut({ draft, destinations, onDraft }: Omit<DefinitionFieldsProps, 'isNew' | 'failure'>) {
  const { leftOut } = draft;
  return (
    <fieldset class="stack-small">
      <legend class="strong">Sent to</legend>
      {destinations.map((name) => (
        <CheckField
          key={name}
          label={name}
          checked={!leftOut.includes(name)}
          onChecked={(isSent) =>
            onDraft({ leftOut: isSent ? leftOut.filter((one) => one !== name) : [...leftOut, name] })
          }
        />
      ))}
    </fieldset>
  );
}

/** A definition with what is said of the site that it is part of: its version, and who last changed it. Null: a new one. */
type VersionedDefinition = Meta & { definition: EventDefinition | null };

const pathOf = (siteId: string, ...id: string[]): string => sitePath(siteId, 'event-definitions', ...id);

const REMOVED = {
  status: 404,
  code: 'event_definition_unknown',
  message: 'Someone else removed this definition.',
  problems: [],
};

/** A definition as it is now. Who changed it is said of its site alone. */
async function readDefinition(siteId: string, id: string): Promise<ApiResult<VersionedDefinition>> {
  const site = await request<SiteItem>('GET', sitePath(siteId));
  if (!site.ok) return site;
  const { event_definitions, version, changed_at, changed_by } = site.value;
  const definition = event_definitions.find((one) => one.id === id);
  if (definition === undefined) return { ok: false, failure: REMOVED };
  return { ok: true, value: { definition, version, changed_at, changed_by }, version };
}

async function writeDefinition(
  siteId: string,
  draft: definitions.DefinitionDraft,
  { definition, ...base }: VersionedDefinition,
): Promise<ApiResult<VersionedDefinition>> {
  const problems = definitions.draftProblems(draft, definitions.isSelector);
  if (problems.length > 0) return definitions.notSent(problems);
  const body = definitions.definitionBody(draft);
  const saved = await (definition === null
    ? request<EventDefinition>('POST', pathOf(siteId), { body })
    : request<EventDefinition>('PUT', pathOf(siteId, definition.id), { body, ...stillAt(base) }));
  if (!saved.ok) return saved;
  const version = saved.version ?? '';
  return { ...saved, value: { ...base, definition: saved.value, version } };
}

const stillAt = ({ version }: Pick<Meta, 'version'>): { version?: string } => (version === '' ? {} : { version });

const removeDefinition = (siteId: string, id: string, base: Meta): Promise<ApiResult<EventDefinition>> =>
  request('DELETE', pathOf(siteId, id), stillAt(base));

/** Tries a definition on addresses and on the HTML of a page, both pasted; nothing of it leaves the browser. */
function DefinitionTester({ draft }: { draft: definitions.DefinitionDraft }) {
  const [addresses, setAddresses] = useState('');
  const [html, setHtml] = useState('');
  const lines = addresses.split('\n').filter((line) => line.trim() !== '');
  const { urlPattern, selector, text } = draft;
  // As the tag does it; an empty pattern is every page.
  const tried = lines.map((line) => {
    const address = line.trim();
    return { address, matches: urlPattern.trim() === '' || matchesUrl(urlPattern, address) };
  });
  const matched = useMemo(
    () => (html.trim() === '' ? undefined : matchIn(html, selector.trim(), text)),
    [html, selector, text],
  );
  return (
    <div class="stack">
      <TextField
        label="Page URLs"
        lines={3}
        placeholder="https://shop.example/thanks?order=7"
        hint="One per line. Matches of the page pattern are marked."
        value={addresses}
        onValue={setAddresses}
      />
      {tried.length > 0 && (
        <ul class="stack-small" aria-label="Matching pages">
          {tried.map(({ address, matches }) => (
            <li key={address} class="row">
              <Badge kind={matches ? 'good' : 'plain'}>{matches ? 'Matches' : 'Does not match'}</Badge>
              <span class="wraps">{address}</span>
            </li>
          ))}
        </ul>
      )}
      <TextField
        label="Page HTML"
        lines={6}
        hint="Copy it from the browser’s developer tools. Nothing in it is run or loaded."
        value={html}
        onValue={setHtml}
      />
      <div role="status">{matched !== undefined && <Found matched={matched} />}</div>
    </div>
  );
}

function Found({ matched }: { matched: Matched | null }) {
  if (matched === null) return <p class="problem">This is not a valid CSS selector.</p>;
  const { count, samples } = matched;
  return (
    <div class="stack-small">
      <p>
        <Badge kind={count === 0 ? 'warn' : 'good'}>
          {count === 0 ? 'Matches nothing' : `Matches ${count} ${count === 1 ? 'element' : 'elements'}`}
        </Badge>
      </p>
      {samples.map((sample, at) => (
        <code class="wraps" key={`${at} ${sample}`}>
          {sample}
        </code>
      ))}
    </div>
  );
}

interface TrustedPolicy {
  createHTML(text: string): string;
}

/**
 * What this policy makes is parsed into a document of its own, which is never shown: scripts in it do not run and nothing
 * in it is loaded. It is the only one that the page's Content-Security-Policy allows.
 */
const POLICY = 'inert-html';
let policy: TrustedPolicy | null = null;

function trusted(text: string): string {
  const { trustedTypes: types } = globalThis as {
    trustedTypes?: { createPolicy(name: string, rules: TrustedPolicy): TrustedPolicy };
  };
  if (types === undefined) return text;
  policy ??= types.createPolicy(POLICY, { createHTML: (html) => html });
  return policy.createHTML(text);
}

/** The elements of a page that a definition is about; null where the selector is none. */
interface Matched {
  count: number;
  /** Of the first ones, the begin of their HTML. */
  samples: readonly string[];
}

const SAMPLES_MAX = 5;
const SAMPLE_CHARACTERS_MAX = 160;

function matchIn(html: string, selector: string, text: string): Matched | null {
  const page = new DOMParser().parseFromString(trusted(html), 'text/html');
  const wanted = text.trim().toLowerCase();
  try {
    const found = [...page.querySelectorAll(selector === '' ? 'body' : selector)].filter((element) =>
      (element.textContent ?? '').replaceAll(/\s+/g, ' ').toLowerCase().includes(wanted),
    );
    const samples = found.slice(0, SAMPLES_MAX).map(({ outerHTML }) => outerHTML.slice(0, SAMPLE_CHARACTERS_MAX));
    return { count: found.length, samples };
  } catch (error) {
    if (error instanceof DOMException) return null;
    throw error;
  }
}
