"""An ONNX graph under construction: formulas are written with Python's operators and become nodes."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from softcount._errors import InputError

__all__ = ["IR_VERSION", "OPSET", "Graph", "Operand", "Value"]

#: Reductions take their axes as an input from this operator set on; onnxruntime has it since 1.14.
OPSET = 18
IR_VERSION = 8
#: Protocol buffers, which ONNX files are, hold no more bytes than this.
LARGEST_FILE = 2**31 - 1


@dataclass(frozen=True, eq=False)
class Value:
    """A tensor in the graph; axis 0 runs over the rows. Reductions are over the last axis, which is kept."""

    graph: Graph
    name: str

    def __add__(self, other: Operand) -> Value:
        return self.graph.node("Add", self, other)

    def __sub__(self, other: Operand) -> Value:
        return self.graph.node("Sub", self, other)

    def __mul__(self, other: Operand) -> Value:
        return self.graph.node("Mul", self, other)

    def __truediv__(self, other: Operand) -> Value:
        return self.graph.node("Div", self, other)

    def __matmul__(self, other: Operand) -> Value:
        return self.graph.node("MatMul", self, other)

    def __pow__(self, other: Operand) -> Value:
        return self.graph.node("Pow", self, other)

    def __neg__(self) -> Value:
        return self.graph.node("Neg", self)

    def __or__(self, other: Operand) -> Value:
        return self.graph.node("Or", self, other)

    def __invert__(self) -> Value:
        return self.graph.node("Not", self)

    def is_above(self, other: Operand) -> Value:
        """Whether the number is larger; NaN is not."""
        return self.graph.node("Greater", self, other)

    def is_below(self, other: Operand) -> Value:
        """Whether the number is smaller; NaN is not."""
        return self.graph.node("Less", self, other)

    def reaches(self, other: Operand) -> Value:
        """Whether the number is as large or larger; NaN is not."""
        return self.graph.node("GreaterOrEqual", self, other)

    def exp(self) -> Value:
        """Exponential."""
        return self.graph.node("Exp", self)

    def log(self) -> Value:
        """Logarithm; minus infinity of zero."""
        return self.graph.node("Log", self)

    def abs(self) -> Value:
        """Absolute value."""
        return self.graph.node("Abs", self)

    def sum(self) -> Value:
        """Sum over the last axis."""
        return self.graph.node("ReduceSum", self, [-1], keepdims=1)

    def max(self) -> Value:
        """Maximum over the last axis."""
        return self.graph.node("ReduceMax", self, [-1], keepdims=1)

    def argmax(self) -> Value:
        """Position of the first maximum over the last axis, which is dropped."""
        return self.graph.node("ArgMax", self, axis=-1, keepdims=0)

    def flat(self) -> Value:
        """Without the last axis, whose length is one."""
        return self.graph.node("Squeeze", self, [-1])

    def at_least(self, least: float) -> Value:
        """The larger of the number and ``least``."""
        return self.graph.node("Max", self, least)

    def at_most(self, most: Operand) -> Value:
        """The smaller of the number and ``most``."""
        return self.graph.node("Min", self, most)

    def as_numbers(self) -> Value:
        """Ones and zeros from true and false."""
        return self.graph.node("Cast", self, to=self.graph.types.DOUBLE)

    def as_positions(self) -> Value:
        """Whole numbers to look something up by."""
        return self.graph.node("Cast", self, to=self.graph.types.INT64)

    def where(self, yes: Operand, no: Operand) -> Value:
        """``yes`` where this is true, else ``no``."""
        return self.graph.node("Where", self, yes, no)


Operand: TypeAlias = Value | float | list[int] | NDArray[Any]


class Graph:
    """Nodes and constants of a model with the input ``X``, doubles of shape (n_rows, n_columns)."""

    def __init__(self, n_columns: int) -> None:
        # Loaded by name, here alone: softcount works without it, and a checker need not have it to read this.
        self.helper = import_module("onnx.helper")
        self.types: Any = import_module("onnx").TensorProto
        self.X = Value(self, "X")
        self.n_columns = n_columns
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.outputs: list[Any] = []
        self.n_bytes = 0

    def constant(self, value: Any) -> Value:
        """A tensor of doubles, whole numbers, truth values or texts."""
        array = np.asarray(value)
        if array.dtype.kind == "U":
            array = array.astype(object)
        self.n_bytes += array.nbytes
        name = f"c{len(self.constants)}"
        self.constants.append(import_module("onnx.numpy_helper").from_array(np.ascontiguousarray(array), name))
        return Value(self, name)

    def node(self, operator: str, *inputs: Operand, **attributes: Any) -> Value:
        """The result of an operator."""
        values = [value if isinstance(value, Value) else self.constant(value) for value in inputs]
        name = f"v{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(operator, [v.name for v in values], [name], **attributes))
        return Value(self, name)

    def beside(self, columns: list[Value]) -> Value:
        """Columns side by side."""
        return columns[0] if len(columns) == 1 else self.node("Concat", *columns, axis=1)

    def look_up(self, table: Operand, positions: Value) -> Value:
        """Entries of a table along its first axis; a position past its end is an error when the graph runs."""
        return self.node("Gather", table, positions, axis=0)

    def answer(self, name: str, value: Value, element: int, *width: int) -> None:
        """Make a value an output under a name."""
        self.nodes.append(self.helper.make_node("Identity", [value.name], [name]))
        self.outputs.append(self.helper.make_tensor_value_info(name, element, ["n_rows", *width]))

    def model(self, facts: dict[str, str], version: str) -> Any:
        """The finished model."""
        if self.n_bytes > LARGEST_FILE:
            raise InputError(
                f"The model's tables take {self.n_bytes / 2**30:.1f} GiB, but an ONNX file holds at most 2. Fit to "
                "fewer columns (or classes), or keep the model in a file of softcount's own: estimator.save(path)."
            )
        shown = self.helper.make_tensor_value_info("X", self.types.DOUBLE, ["n_rows", self.n_columns])
        graph = self.helper.make_graph(self.nodes, "softcount", [shown], self.outputs, self.constants)
        opsets = [self.helper.make_opsetid("", OPSET)]
        made = self.helper.make_model(
            graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="softcount", producer_version=version
        )
        self.helper.set_model_props(made, facts)
        return made
