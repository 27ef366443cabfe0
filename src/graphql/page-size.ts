/** How many rows a page of a connection has. */
export const defaultPageSize = 20
export const maxPageSize = 100
