import type { VNode } from 'preact';
import type { SiteItem } from '#services/control_api/sites.ts';
import { request } from '../../api/request.ts';
import { useAnswer } from '../../api/use_answer.ts';
import type { PageProps } from '../../page_spec.ts';
import { place, setQuery } from '../../router.ts';
import { readSites } from '../../site_list.ts';
import { Shown } from '../../ui/states.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { BlockRules } from './block_rules.tsx';
import { ConsentForm } from './consent_form.tsx';
import { Domains } from './domains.tsx';
import { GeneralForm } from './general_form.tsx';

/** The settings of a site. */
export default function SitePage({ params }: PageProps): VNode {
  const siteId = params['site'] ?? '';
  const path = `/v1/admin/sites/${encodeURIComponent(siteId)}`;
  const asked = useAnswer(siteId, (signal) => request<SiteItem>('GET', path, { signal }));
  const onChanged = (): void => {
    asked.again();
    void readSites();
  };
  return (
    <Shown asked={asked} lines={8}>
      {(site) => {
        const props = { site, onChanged };
        return (
          <Tabs
            label="Settings of the site"
            chosen={place.value.query.get('view') ?? 'general'}
            onChosen={(view) => setQuery({ view: view === 'general' ? null : view })}
            tabs={[
              { id: 'general', label: 'General', keeps: true, content: () => <GeneralForm {...props} /> },
              { id: 'consent', label: 'Tag and consent', keeps: true, content: () => <ConsentForm {...props} /> },
              { id: 'domains', label: 'Domains', content: () => <Domains {...props} /> },
              { id: 'block', label: 'Block rules', keeps: true, content: () => <BlockRules {...props} /> },
            ]}
          />
        );
      }}
    </Shown>
  );
}
