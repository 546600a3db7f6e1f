/** A page that is a list: its rows, or what the first one is for; below it what else belongs to the page. */
import type { ReactNode } from "react";
import { Loading, Problem, Title } from "./basics.tsx";
import { Table, type Column } from "./table.tsx";

type Props<Row> = {
  readonly title: string;
  readonly data: readonly (Row | null)[] | undefined;
  readonly error: Error | null;
  readonly columns: readonly Column<Row>[];
  readonly keyOf: (row: Row) => string;
  readonly onEnd?: (() => void) | undefined;
  /** Stands where no row is. */
  readonly empty: ReactNode;
  readonly children?: ReactNode;
};

export function ListPage<Row>({ title, data, error, columns, keyOf, onEnd, empty, children }: Props<Row>) {
  const rows = (data ?? []).flatMap((row) => row ?? []);
  return (
    <>
      <Title>{title}</Title>
      <Problem error={error} />
      {!data && !error ? <Loading /> : null}
      {data && rows.length === 0 ? empty : null}
      {rows.length > 0 ? (
        <Table label={title} rows={rows} columns={columns} keyOf={keyOf} onEnd={onEnd} />
      ) : null}
      {children}
    </>
  );
}
