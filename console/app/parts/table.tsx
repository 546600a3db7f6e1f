/** A list of rows of equal height, of which only those in view exist. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useEffect, useRef } from "react";

export type Column<Row> = {
  readonly title: string;
  /** Its track of the grid. */
  readonly width: string;
  readonly cell: (row: Row) => ReactNode;
  /** Left out on a small screen. */
  readonly isMinor?: boolean;
};

type Props<Row> = {
  readonly label: string;
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  readonly keyOf: (row: Row) => string;
  /** More rows are to be had. */
  readonly onEnd?: (() => void) | undefined;
};

const ROW_HEIGHT = 44;
const ROWS_AROUND = 8;

export function Table<Row>({ label, rows, columns, keyOf, onEnd }: Props<Row>) {
  const scroller = useRef<HTMLDivElement>(null);
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: ROWS_AROUND,
  });
  const items = virtualizer.getVirtualItems();
  const lastShown = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (onEnd && lastShown >= rows.length - ROWS_AROUND) onEnd();
  }, [lastShown, rows.length, onEnd]);
  const grid = { "--wide": columns.map(({ width }) => width).join(" "), "--narrow": narrowTracks(columns) };
  return (
    <div
      ref={scroller}
      tabIndex={0}
      role="table"
      aria-label={label}
      aria-rowcount={rows.length}
      style={grid as React.CSSProperties}
      className="max-h-[70vh] overflow-auto rounded-lg border border-line bg-card text-sm"
    >
      <div
        role="row"
        className={`${ROW} sticky top-0 z-10 border-b border-line bg-raised text-xs text-quiet`}
      >
        {columns.map(({ title, isMinor }) => (
          <span key={title} role="columnheader" className={cellClass(isMinor)}>
            {title}
          </span>
        ))}
      </div>
      <div role="rowgroup" className="relative" style={{ height: virtualizer.getTotalSize() }}>
        {items.map(({ index, start, size }) => {
          const row = rows[index];
          if (row === undefined) return null;
          return (
            <div
              key={keyOf(row)}
              role="row"
              aria-rowindex={index + 2}
              className={`${ROW} absolute inset-x-0 top-0 border-b border-line hover:bg-raised`}
              style={{ height: size, transform: `translateY(${start}px)` }}
            >
              {columns.map(({ title, cell, isMinor }) => (
                <div key={title} role="cell" className={cellClass(isMinor)}>
                  {cell(row)}
                </div>
              ))}
            </div>
          );
        })}
      </div>
    </div>
  );
}

const ROW =
  "grid min-h-9 items-center gap-2 px-3 md:gap-3 md:px-4 [grid-template-columns:var(--narrow)] md:[grid-template-columns:var(--wide)]";

function cellClass(isMinor = false): string {
  return `min-w-0 truncate ${isMinor ? "hidden md:block" : ""}`;
}

function narrowTracks<Row>(columns: readonly Column<Row>[]): string {
  return columns
    .filter(({ isMinor }) => !isMinor)
    .map(({ width }) => width)
    .join(" ");
}
