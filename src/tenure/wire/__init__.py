"""What crosses a boundary of a process: JSON in the contract's camelCase, decoded strictly."""
