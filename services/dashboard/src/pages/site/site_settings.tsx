import type { ComponentChildren } from 'preact';
import type { SiteChange, SiteItem } from '#services/control_api/sites.ts';
import { type ApiResult, request, sitePath } from '../../api/request.ts';
import { ConflictDialog, EditForm, type Editing, type Saving, useEditForm, useSave } from '../../editing/editing.tsx';
import { isSame } from '../../format.ts';
import { mayAt } from '../../session.ts';
import { Combobox } from '../../ui/combobox.tsx';
import { actionColumn, type Column, DataTable } from '../../ui/data_table.tsx';
import { toast } from '../../ui/dialog.tsx';
import {
  CheckField,
  FormActions,
  SelectField,
  submitHandler,
  TextField,
  textFields,
  useDraft,
} from '../../ui/form_fields.tsx';
import { siteAddress } from '../../ui/identifiers.tsx';
import { FailureNote, Panel } from '../../ui/panel.tsx';
import {
  CATEGORIES,
  CURRENCY_HINT,
  type GeneralDraft,
  generalChange,
  generalDraft,
  VISITOR_ADDRESSES,
  VISITOR_PLACES,
  WEEK_STARTS,
  zoneChoices,
} from './site_form.ts';

const MODES = [
  { value: 'online', label: 'Online: visitors can be recognised' },
  { value: 'offline', label: 'Offline: anonymous, identifiers are stripped' },
];

const NAMES: Readonly<Record<keyof GeneralDraft, string>> = {
  name: 'Name',
  mode: 'Mode',
  category: 'Category',
  country: 'Country',
  identifyEvents: 'Identifying events',
  clarity: 'Clarity project',
  gtm: 'Tag Manager container',
  consentDefaults: 'Consent by default',
  eventDays: 'Days events are kept',
  outcomeDays: 'Days delivery outcomes are kept',
  timeZone: 'Time zone',
  weekStart: 'First day of the week',
  personDays: 'Days persons are kept after their last event',
  visitorPlaces: 'Places of visitors',
  visitorAddresses: 'Addresses of visitors',
  currency: 'Currency of revenue',
  embedOrigins: 'Origins that may embed shared links',
};

export function GeneralForm(props: SitePartProps) {
  const { site_id, account_id } = props.site;
  return (
    <Panel title="General settings" note={`Site ${site_id} of account ${account_id}`}>
      <SiteForm {...props} draftOf={generalDraft} changeOf={generalChange} said="Saved the site" names={NAMES}>
        {({ draft, edit, failure }) => <GeneralFields field={textFields(draft, edit, failure)} />}
      </SiteForm>
    </Panel>
  );
}

const GeneralFields = ({ field }: { field: ReturnType<typeof textFields<GeneralDraft>> }) => (
  <>
    <TextField label={NAMES.name} required {...field('name')} />
    <SelectField
      label={NAMES.mode}
      options={MODES}
      hint="In offline mode no identifying data leaves the edge, from the next event on."
      {...field('mode')}
    />
    <div class="form-row">
      <SelectField label={NAMES.category} options={CATEGORIES} {...field('category', 'business_category')} />
      <TextField
        label={`${NAMES.country} (optional)`}
        placeholder="AT"
        hint="Two letters, for phone numbers without a country code."
        {...field('country', 'default_country')}
      />
    </div>
    <div class="form-row">
      <Combobox label={NAMES.timeZone} options={zoneChoices()} takesFirst {...field('timeZone', 'time_zone')} />
      <SelectField label={NAMES.weekStart} options={WEEK_STARTS} {...field('weekStart', 'week_start')} />
    </div>
    <div class="form-row">
      <SelectField
        label={NAMES.visitorPlaces}
        options={VISITOR_PLACES}
        hint="How exactly events from now on say where a visitor is."
        {...field('visitorPlaces', 'visitor_places')}
      />
      <SelectField
        label={NAMES.visitorAddresses}
        options={VISITOR_ADDRESSES}
        hint="What is stored of them, for events from now on."
        {...field('visitorAddresses', 'visitor_addresses')}
      />
    </div>
    <TextField
      label={`${NAMES.currency} (optional)`}
      placeholder="EUR"
      hint={CURRENCY_HINT}
      {...field('currency', 'currency')}
    />
    <TextField
      label={`${NAMES.embedOrigins} (optional)`}
      lines={3}
      placeholder={'https://intranet.example\nhttps://*.example.com'}
      hint="One per line. Their pages may show links that allow it in a frame. Empty: none may."
      {...field('embedOrigins', 'embed_origins')}
    />
    <TextField
      label={`${NAMES.identifyEvents} (optional)`}
      lines={3}
      hint="One per line. Empty: the default list."
      {...field('identifyEvents', 'identify_events')}
    />
    <div class="form-row">
      <TextField label={`${NAMES.clarity} (optional)`} {...field('clarity', 'clarity_project_id')} />
      <TextField label={`${NAMES.gtm} (optional)`} placeholder="GTM-ABC123" {...field('gtm', 'gtm_container_id')} />
    </div>
    <TextField
      label={`${NAMES.consentDefaults} (optional)`}
      lines={3}
      placeholder={'EEA denied\nelse granted'}
      hint="Where an event says nothing: a country, EEA or else, and granted or denied, one per line."
      {...field('consentDefaults', 'consent_defaults')}
    />
    <div class="form-row">
      <TextField
        label={`${NAMES.eventDays} (optional)`}
        hint="Older events are deleted within about a week. Empty: as long as the installation keeps them."
        {...field('eventDays', 'event_days')}
      />
      <TextField label={`${NAMES.outcomeDays} (optional)`} {...field('outcomeDays', 'outcome_days')} />
    </div>
    <TextField
      label={`${NAMES.personDays} (optional)`}
      hint="At least 30. Who sent nothing for so long is forgotten, which cannot be undone, and new when they return; events stay for their own days. Empty, the default: persons are kept until erased."
      {...field('personDays', 'person_days')}
    />
  </>
);

type Tag = SiteItem['tag'];

const CHOICES: readonly { name: keyof Tag; label: string; hint: string }[] = [
  {
    name: 'consent_required',
    label: 'Require consent before tracking',
    hint: 'Until the page calls svc.consent({ analytics: true }), nothing is sent or stored in the browser.',
  },
  {
    name: 'consent_queue',
    label: 'Send earlier events after consent',
    hint: 'Events wait in the page, and are discarded without consent.',
  },
  {
    name: 'respect_gpc',
    label: 'Respect Global Privacy Control',
    hint: 'Events of browsers with this signal go to no advertising platform.',
  },
  { name: 'respect_dnt', label: 'Respect Do Not Track', hint: 'Browsers with this signal are not tracked.' },
  { name: 'web_vitals', label: 'Measure Web Vitals', hint: 'The Core Web Vitals of each page view.' },
  {
    name: 'inventory',
    label: 'Collect page elements',
    hint: 'For creating event definitions.',
  },
];

const CONSENT_NAMES = Object.fromEntries(CHOICES.map(({ name, label }) => [name, label]));

function tagChange(draft: Tag, { tag }: SiteItem): SiteChange {
  const changed = CHOICES.filter(({ name }) => draft[name] !== tag[name]);
  return { tag: Object.fromEntries(changed.map(({ name }) => [name, draft[name]])) };
}

export const ConsentForm = (props: SitePartProps) => (
  <Panel title="Tag settings" note="Browsers pick up changes within minutes.">
    <SiteForm
      {...props}
      draftOf={({ tag }): Tag => tag}
      changeOf={tagChange}
      said="Saved the tag settings"
      names={CONSENT_NAMES}
    >
      {({ draft, edit }) =>
        CHOICES.map(({ name, label, hint }) => (
          <CheckField
            key={name}
            label={label}
            hint={hint}
            checked={draft[name]}
            onChecked={(checked) => edit({ [name]: checked })}
          />
        ))
      }
    </SiteForm>
  </Panel>
);

type Rule = SiteItem['block_rules'][number];

const KINDS: readonly { value: Rule['kind']; label: string; hint: string }[] = [
  { value: 'ip', label: 'IP address', hint: 'An address, or a range such as 203.0.113.0/24.' },
  { value: 'user_agent', label: 'User agent', hint: 'A part of the browser’s user agent.' },
  { value: 'country', label: 'Country', hint: 'Two capital letters; T1 is Tor.' },
  { value: 'event', label: 'Event', hint: 'The name of an event.' },
  { value: 'property', label: 'Property', hint: 'The value of a property; empty: whenever the property is there.' },
  { value: 'distinct_id', label: 'Distinct id', hint: 'The id of one visitor.' },
];
const labelOf = (kind: Rule['kind']): string => KINDS.find(({ value }) => value === kind)?.label ?? kind;

const ruleText = ({ kind, value, property }: Rule): string =>
  [labelOf(kind), ...(property === null ? [] : [property]), value].join(' ');

/** Changes the rules, whatever they are by then. */
function useRules({ site, onChanged }: SitePartProps): Saving & {
  change(to: (rules: readonly Rule[]) => Rule[], said: string, onSaved?: () => void): void;
} {
  const saving = useSave();
  return {
    ...saving,
    change: (to, said, onSaved = () => undefined) =>
      void saving.save<SiteItem>({
        loaded: site,
        factsOf: ({ block_rules }) => ({ rules: block_rules.map(ruleText) }),
        kept: ({ block_rules }) => ({ rules: to(block_rules).map(ruleText) }),
        read: () => readSite(site.site_id),
        write: (base) => patchSite(base, { block_rules: to(base.block_rules) }),
        onSaved() {
          onSaved();
          toast(said);
        },
        onDone: onChanged,
      }),
  };
}

export function BlockRules(props: SitePartProps) {
  const { site } = props;
  const rules = useRules(props);
  const mayChange = mayAt('block_rules.change', site.site_id);
  const remove = actionColumn<Rule>({
    label: 'Remove',
    nameOf: ({ kind, value }) => `Remove the rule for ${labelOf(kind)} ${value}`,
    disabled: rules.isBusy,
    act: (rule) => rules.change((before) => before.filter((one) => !isSame(one, rule)), 'The rule was removed'),
  });
  return (
    <Panel title="Dropped events" note="Events that match any rule are dropped at the edge, and counted.">
      <div class="stack">
        {mayChange && <NewRule {...props} />}
        <FailureNote failure={rules.failure} />
        <ConflictDialog saving={rules} what="the site" />
        <DataTable
          caption="Block rules"
          columns={[...COLUMNS, mayChange && remove]}
          rows={site.block_rules}
          keyOf={({ kind, value, property }) => `${kind} ${property} ${value}`}
          csvName="block-rules"
          emptyText="No block rules"
        />
        {mayAt('query.aggregates', site.site_id) && (
          <p>
            <a href={siteAddress(site.site_id, 'refusals')}>View dropped events</a>
          </p>
        )}
      </div>
    </Panel>
  );
}

const COLUMNS: readonly Column<Rule>[] = [
  { id: 'kind', title: 'Type', value: ({ kind }) => labelOf(kind) },
  { id: 'property', title: 'Property', value: ({ property }) => property ?? '' },
  { id: 'value', title: 'Value', value: ({ value }) => value },
];

function NewRule(props: SitePartProps) {
  const rules = useRules(props);
  const { draft, edit, field } = useDraft<Rule & { property: string }>({ kind: 'ip', value: '', property: '' });
  const isOfProperty = draft.kind === 'property';
  const add = (): void => {
    const property = isOfProperty ? draft.property.trim() : null;
    rules.change(
      (before) => [...before, { ...draft, value: draft.value.trim(), property }],
      'The rule was added',
      () => edit({ value: '' }),
    );
  };
  return (
    <form class="stack" onSubmit={submitHandler(add)}>
      <div class="form-row">
        <SelectField label="Type" options={KINDS} {...field(null)('kind')} />
        {isOfProperty && <TextField label="Property" required {...field(null)('property')} />}
        <TextField
          label="Value"
          required={!isOfProperty}
          hint={KINDS.find(({ value }) => value === draft.kind)?.hint}
          {...field(rules.failure)('value', 'block_rules')}
        />
      </div>
      {rules.failure !== null && rules.failure.problems.length === 0 && <FailureNote failure={rules.failure} />}
      <ConflictDialog saving={rules} what="the site" />
      <FormActions action="Add rule" disabled={rules.isBusy} />
    </form>
  );
}

const readSite = (siteId: string): Promise<ApiResult<SiteItem>> => request('GET', sitePath(siteId));

const patchSite = ({ site_id, version }: SiteItem, body: SiteChange): Promise<ApiResult<SiteItem>> =>
  request('PATCH', sitePath(site_id), { body, version });

interface DraftOfSite<Draft extends object> {
  draftOf(site: SiteItem): Draft;
  changeOf(draft: Draft, site: SiteItem): SiteChange;
  said: string;
}

interface SiteFormProps<Draft extends object> extends SitePartProps, DraftOfSite<Draft> {
  names: Readonly<Record<string, string>>;
  children: (form: Editing<Draft>) => ComponentChildren;
}

/** Some fields of the site as a form edits them. */
export const useSiteForm = <Draft extends object>(
  { site, onChanged }: SitePartProps,
  { draftOf, changeOf, said }: DraftOfSite<Draft>,
): ReturnType<typeof useEditForm<SiteItem, Draft>> =>
  useEditForm<SiteItem, Draft>({
    item: site,
    draftOf,
    read: () => readSite(site.site_id),
    write: (draft, base) => patchSite(base, changeOf(draft, base)),
    said,
    onDone: onChanged,
  });

/** A form over some fields of the site, which only those who may change can edit. */
function SiteForm<Draft extends object>(props: SiteFormProps<Draft>) {
  const { site, names, children } = props;
  const form = useSiteForm(props, props);
  return (
    <EditForm
      class="stack narrow"
      form={form}
      mayChange={mayAt('site.change', site.site_id)}
      what="the site"
      names={names}
    >
      {children(form)}
    </EditForm>
  );
}

export interface SitePartProps {
  site: SiteItem;
  onChanged(): void;
}
