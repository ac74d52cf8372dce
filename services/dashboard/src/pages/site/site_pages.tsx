// Which addresses are one page of the site, and what that would make of the pages of its last day.
import { useState } from 'preact/hooks';
import type { PagePreview, SiteChange, SiteItem } from '#services/control_api/sites.ts';
import { request, sitePath } from '../../api/request.ts';
import { useMutation } from '../../api/use_answer.ts';
import { EditForm } from '../../editing/editing.tsx';
import { mayAt } from '../../session.ts';
import { Button } from '../../ui/button.tsx';
import { type Column, DataTable } from '../../ui/data_table.tsx';
import { CheckField, TextField, textFields } from '../../ui/form_fields.tsx';
import { FailureNote, Panel } from '../../ui/panel.tsx';
import { type SitePartProps, useSiteForm } from './site_settings.tsx';

type Pages = SiteItem['pages'];
type Switch = 'drop_trailing_slash' | 'lower_case' | 'drop_index_names' | 'shorten_ids' | 'hash_routes';

/** Lists have one on a line. */
interface PagesDraft extends Pick<Pages, Switch> {
  parameters: string;
  rules: string;
}

const SWITCHES: readonly { name: Switch; label: string; hint: string }[] = [
  { name: 'drop_trailing_slash', label: 'Ignore the slash at the end', hint: '/about/ is /about.' },
  { name: 'lower_case', label: 'Ignore capitals', hint: '/About is /about.' },
  { name: 'drop_index_names', label: 'Ignore index names', hint: '/blog/index.html is /blog/.' },
  { name: 'shorten_ids', label: 'Join ids', hint: 'Numbers, UUIDs and tokens in a path are :id.' },
  {
    name: 'hash_routes',
    label: 'Count hash routes',
    hint: 'A route such as #/cart is part of the page, and a new page view of the tag.',
  },
];

const NAMES: Readonly<Record<keyof PagesDraft, string>> = {
  ...(Object.fromEntries(SWITCHES.map(({ name, label }) => [name, label])) as Record<Switch, string>),
  parameters: 'Parameters that count',
  rules: 'Patterns',
};

const pagesDraft = ({ pages }: SiteItem): PagesDraft => ({
  ...pages,
  parameters: pages.parameters.join('\n'),
  rules: pages.rules.join('\n'),
});

const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');

const pagesOf = (draft: PagesDraft): Pages => ({
  ...draft,
  parameters: linesOf(draft.parameters),
  rules: linesOf(draft.rules),
});

const pagesChange = (draft: PagesDraft): SiteChange => ({ pages: pagesOf(draft) });

export function PagesForm(props: SitePartProps) {
  const { site_id } = props.site;
  const form = useSiteForm(props, { draftOf: pagesDraft, changeOf: pagesChange, said: 'Saved the pages' });
  const { draft, edit, failure } = form;
  const field = textFields(draft, edit, failure);
  return (
    <Panel title="Pages" note="Which addresses count as one page, in every question and for past events too.">
      <div class="stack">
        <EditForm
          class="stack narrow"
          form={form}
          mayChange={mayAt('site.change', site_id)}
          what="the site"
          names={NAMES}
        >
          {SWITCHES.map(({ name, label, hint }) => (
            <CheckField
              key={name}
              label={label}
              hint={hint}
              checked={draft[name]}
              onChecked={(checked) => edit({ [name]: checked })}
            />
          ))}
          <TextField
            label={`${NAMES.rules} (optional)`}
            lines={4}
            placeholder={'/users/:id/orders\n/blog/*'}
            hint="One per line; the first that fits is the page. :name is one part of the path, * any text in it, and at the end all that follows."
            {...field('rules', 'pages.rules')}
          />
          <TextField
            label={`${NAMES.parameters} (optional)`}
            lines={2}
            placeholder="tab"
            hint="Names, one per line. All others are no part of the page."
            {...field('parameters', 'pages.parameters')}
          />
        </EditForm>
        {mayAt('query.aggregates', site_id) && <Preview siteId={site_id} draft={draft} />}
      </div>
    </Panel>
  );
}

/** What was asked, so that it is seen whether an answer is of the rules as they are by now. */
interface Previewed {
  draft: PagesDraft;
  answer: PagePreview;
}

function Preview({ siteId, draft }: { siteId: string; draft: PagesDraft }) {
  const [shown, setShown] = useState<Previewed | null>(null);
  const action = useMutation();
  const ask = () =>
    action.run(
      () => request<PagePreview>('POST', `${sitePath(siteId)}/pages/preview`, { body: { pages: pagesOf(draft) } }),
      (answer) => setShown({ draft, answer }),
    );
  return (
    <section class="stack" aria-labelledby="pages-preview">
      <h3 id="pages-preview">Preview</h3>
      <p class="row">
        <Button label="Preview on the last day" disabled={action.isBusy} onClick={ask} />
        {shown !== null && shown.draft !== draft && <span class="muted">The settings have changed since.</span>}
      </p>
      <FailureNote failure={action.failure} />
      <div role="status">
        {shown !== null && (
          <>
            <p>
              {shown.answer.pages_before} pages become {shown.answer.pages_after}.
            </p>
            <DataTable
              caption="Pages that there would be"
              rows={shown.answer.items}
              columns={COLUMNS}
              keyOf={({ page }) => page}
              csvName="pages-preview"
              emptyText="No page views in the last day"
            />
          </>
        )}
      </div>
    </section>
  );
}

type Item = PagePreview['items'][number];

const sourcesText = ({ is_changed, source_pages, sources }: Item): string => {
  if (!is_changed) return 'unchanged';
  const more = source_pages - sources.length;
  return sources.map(({ page }) => page).join(', ') + (more > 0 ? ` and ${more} more` : '');
};

const COLUMNS: readonly Column<Item>[] = [
  { id: 'page', title: 'Page', value: ({ page }) => page },
  { id: 'views', title: 'Views', align: 'end', value: ({ views }) => views },
  { id: 'sources', title: 'From', value: sourcesText },
];
