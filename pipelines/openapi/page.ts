type Json = Record<string, unknown>;

const STYLE = `body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1f24;background:#fff}
h2{margin-top:2.5rem;border-bottom:1px solid #d0d7de}code,pre{font:13px/1.45 ui-monospace,monospace}pre{background:#f6f8fa;padding:.75rem;overflow:auto}
details{margin:.4rem 0;border:1px solid #d0d7de;border-radius:6px;padding:.4rem .8rem}summary{cursor:pointer}b.method{display:inline-block;width:4.5rem}
table{border-collapse:collapse;width:100%}td,th{text-align:left;vertical-align:top;padding:.2rem .8rem .2rem 0}
@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}pre{background:#161b22}}`;

/** An OpenAPI document as a page for people. It runs no script and loads nothing. */
export function docsPage(document: Json): string {
  const info = document['info'] as { title: string; description: string };
  const schemas = (document['components'] as { schemas: Record<string, unknown> }).schemas;
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width,initial-scale=1">',
    `<title>${escaped(info.title)}</title><style>${STYLE}</style></head><body>`,
    `<h1>${escaped(info.title)}</h1><p>${escaped(info.description)}</p>`,
    '<p>For programs: <a href="/docs/openapi.json">/docs/openapi.json</a></p>',
    ...sections(document['paths'] as Record<string, Json>),
    '<h2>Schemas</h2>',
    ...Object.entries(schemas).map(
      ([name, schema]) => `<details id="${name}"><summary>${name}</summary>${json(schema)}</details>`,
    ),
    '</body></html>',
  ].join('\n');
}

interface Operation {
  summary: string;
  tags: string[];
  parameters?: { name: string; in: string; required: boolean; description?: string }[];
  requestBody?: { content: Json };
  responses: Record<string, { description: string; content?: Json }>;
}

function sections(paths: Record<string, Json>): string[] {
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method, operation: operation as Operation })),
  );
  return [...Map.groupBy(operations, ({ operation }) => operation.tags[0] ?? '')].flatMap(([tag, group]) => [
    `<h2>${escaped(tag)}</h2>`,
    ...group.map(({ path, method, operation }) => section(path, method, operation)),
  ]);
}

function section(path: string, method: string, operation: Operation): string {
  return [
    `<details><summary><b class="method">${method.toUpperCase()}</b> <code>${escaped(path)}</code> `,
    `${escaped(operation.summary)}</summary>`,
    parameters(operation),
    operation.requestBody === undefined ? '' : body(operation.requestBody.content),
    '<h4>Answers</h4><table>',
    ...Object.entries(operation.responses).map(([status, response]) => answer(status, response)),
    '</table></details>',
  ].join('');
}

function body(content: Json): string {
  const { example } = Object.values(content)[0] as { example?: unknown };
  const shown = example === undefined ? '' : `<h4>Example</h4>${json(example)}`;
  return `${shown}<h4>Body</h4>${json(schemaIn(content))}`;
}

function parameters({ parameters: list = [] }: Operation): string {
  if (list.length === 0) return '';
  const rows = list.map(
    (item) =>
      `<tr><td><code>${escaped(item.name)}</code></td><td>${item.in}${item.required ? ', required' : ''}</td>` +
      `<td>${escaped(item.description ?? '')}</td></tr>`,
  );
  return `<h4>Parameters</h4><table>${rows.join('')}</table>`;
}

function answer(status: string, { description, content }: Operation['responses'][string]): string {
  const text = escaped(description).replaceAll('\n\n', '<br>');
  const schema = content !== undefined && Number(status) < 300 ? json(schemaIn(content)) : '';
  return `<tr><th>${status}</th><td>${text}${schema}</td></tr>`;
}

function schemaIn(content: Json): unknown {
  return (Object.values(content)[0] as { schema?: unknown } | undefined)?.schema;
}

function json(value: unknown): string {
  const text = escaped(JSON.stringify(value, null, 2));
  const links = text.replaceAll(
    /&quot;#\/components\/schemas\/(\w+)&quot;/g,
    (_match, name: string) => `<a href="#${name}">${name}</a>`,
  );
  return `<pre>${links}</pre>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
