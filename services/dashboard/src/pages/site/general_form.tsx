import type { VNode } from 'preact';
import { problemOf, SelectField, TextField } from '../../ui/form_fields.tsx';
import { Panel } from '../../ui/panel.tsx';
import { SiteForm, useSiteForm } from './save_site.tsx';
import { CATEGORIES, type GeneralDraft, generalChange, generalDraft } from './site_form.ts';
import type { SitePartProps } from './site_part.ts';

const MODES = [
  { value: 'online', label: 'Online: visitors can be recognised' },
  { value: 'offline', label: 'Offline: anonymous, identifiers are stripped' },
];

const NAMES: Readonly<Record<keyof GeneralDraft, string>> = {
  name: 'Name',
  mode: 'Mode',
  category: 'Category',
  country: 'Country',
  identifyEvents: 'Events that say who a visitor is',
  clarity: 'Clarity project',
  gtm: 'Tag Manager container',
};

/** Name, mode, category, country and what other tools need. */
export function GeneralForm(props: SitePartProps): VNode {
  const { site } = props;
  const form = useSiteForm(props, { draftOf: generalDraft, changeOf: generalChange, said: 'Saved the site' });
  const field = (name: keyof GeneralDraft, ofBody: string) => ({
    value: form.draft[name],
    onValue: (value: string) => form.edit({ [name]: value }),
    problem: problemOf(form.failure, ofBody),
  });
  return (
    <Panel title="About the site" note={`Site ${site.site_id} of account ${site.account_id}`}>
      <SiteForm site={site} form={form} names={NAMES}>
        <TextField label={NAMES.name} required {...field('name', 'name')} />
        <SelectField
          label={NAMES.mode}
          options={MODES}
          hint="In offline mode nothing that could tell who a visitor is goes beyond the edge, from the next event on."
          {...field('mode', 'mode')}
        />
        <div class="form-row">
          <SelectField label={NAMES.category} options={CATEGORIES} {...field('category', 'business_category')} />
          <TextField
            label={`${NAMES.country} (optional)`}
            placeholder="AT"
            hint="Two letters; reads phone numbers written without a country code."
            {...field('country', 'default_country')}
          />
        </div>
        <TextField
          label={`${NAMES.identifyEvents} (optional)`}
          lines={3}
          hint="One on a line; empty: the standard list."
          {...field('identifyEvents', 'identify_events')}
        />
        <div class="form-row">
          <TextField label={`${NAMES.clarity} (optional)`} {...field('clarity', 'clarity_project_id')} />
          <TextField label={`${NAMES.gtm} (optional)`} placeholder="GTM-ABC123" {...field('gtm', 'gtm_container_id')} />
        </div>
      </SiteForm>
    </Panel>
  );
}
