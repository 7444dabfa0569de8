"""The measure reference is what the registry says today."""

from tools.make_docs import TARGET, reference


def test_the_measure_reference_is_current():
    assert TARGET.read_text() == reference(), "run `make docs`"


def test_every_measure_documents_an_example():
    import doctest
    import inspect

    import ndcg_spark as nd

    for measure in nd.catalogue():
        if measure.__module__.startswith("ndcg_spark."):
            assert doctest.DocTestParser().get_examples(inspect.getdoc(measure)), measure.canonical
