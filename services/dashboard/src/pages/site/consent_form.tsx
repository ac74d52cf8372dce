import type { VNode } from 'preact';
import type { SiteChange, SiteItem } from '#services/control_api/sites.ts';
import { CheckField } from '../../ui/form_fields.tsx';
import { Panel } from '../../ui/panel.tsx';
import { SiteForm, useSiteForm } from './save_site.tsx';
import type { SitePartProps } from './site_part.ts';

type Tag = SiteItem['tag'];

const CHOICES: readonly { name: keyof Tag; label: string; hint: string }[] = [
  {
    name: 'consent_required',
    label: 'Measure nothing before the visitor agrees',
    hint: 'Until the page says svc.consent({ analytics: true }), nothing is sent and nothing is kept in the browser.',
  },
  {
    name: 'consent_queue',
    label: 'Send what happened before, once the visitor agrees',
    hint: 'Events wait in the page, and are gone with it where the visitor does not agree.',
  },
  {
    name: 'respect_gpc',
    label: 'Respect Global Privacy Control',
    hint: 'Events of browsers that ask for it go to no advertising platform.',
  },
  { name: 'respect_dnt', label: 'Take Do Not Track for a refusal', hint: 'Such browsers are not measured at all.' },
  { name: 'web_vitals', label: 'Measure loading times', hint: 'The Core Web Vitals of each page view.' },
  {
    name: 'inventory',
    label: 'Look over the elements of pages',
    hint: 'So that event definitions can be made of what is there.',
  },
];

const NAMES = Object.fromEntries(CHOICES.map(({ name, label }) => [name, label]));

/** What is sent: the choices that are not as they were. */
function tagChange(draft: Tag, { tag }: SiteItem): SiteChange {
  const changed = CHOICES.filter(({ name }) => draft[name] !== tag[name]);
  return { tag: Object.fromEntries(changed.map(({ name }) => [name, draft[name]])) };
}

/** How the browser tag behaves, and what needs the visitor's consent. */
export function ConsentForm(props: SitePartProps): VNode {
  const { site } = props;
  const form = useSiteForm<Tag>(props, {
    draftOf: ({ tag }) => tag,
    changeOf: tagChange,
    said: 'Saved what the tag does',
  });
  return (
    <Panel title="What the tag does" note="Browsers take a change within minutes.">
      <SiteForm site={site} form={form} names={NAMES}>
        {CHOICES.map(({ name, label, hint }) => (
          <CheckField
            key={name}
            label={label}
            hint={hint}
            checked={form.draft[name]}
            onChecked={(checked) => form.edit({ [name]: checked })}
          />
        ))}
      </SiteForm>
    </Panel>
  );
}
