import '#services/dashboard/src/styles/main.css';
import { render } from 'preact';
import { type Column, DataTable } from '#services/dashboard/src/ui/data_table.tsx';

interface Row {
  id: string;
  name: string;
  count: number;
}

const ROWS: Row[] = Array.from({ length: 50_000 }, (_, at) => ({
  id: String(at),
  name: `name ${(at * 7_919) % 50_000}`,
  count: (at * 104_729) % 50_000,
}));

const COLUMNS: readonly Column<Row>[] = [
  { id: 'id', title: 'Id', value: ({ id }) => id },
  { id: 'name', title: 'Name', value: ({ name }) => name },
  { id: 'count', title: 'Count', align: 'end', value: ({ count }) => count },
];

const root = document.getElementById('app');
if (root !== null) {
  render(<DataTable caption="Many rows" columns={COLUMNS} rows={ROWS} keyOf={({ id }) => id} csvName="rows" />, root);
}
